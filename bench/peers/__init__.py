"""What Quiver is measured against. Each peer makes the same children as Quiver."""
