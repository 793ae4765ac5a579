"""Quiver beside its peers, measured in the same run: `python -m bench [ONLY]`."""
