"""What an operator needs in its cluster: definitions of its kinds, and rights."""
