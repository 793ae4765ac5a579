"""The one kind of error that a person sees."""


class DevClusterError(Exception):
    """One sentence: what is wrong, where, and what to do. The command line prints just that."""
