"""The `quiver` command. Each group of commands is one module, imported only when it is used."""
