"""Quiver runs vector databases and ML platforms on Kubernetes."""

__version__ = "0.1.0"
