"""One API server: configuration, requests, server-side apply, watch."""

from quiver.kube.client import Client, Object, WatchEvent
from quiver.kube.config import ConfigError, KubeConfig
from quiver.kube.errors import ApiError, Conflict, Gone, NotFound, Unreachable

__all__ = [
    "ApiError",
    "Client",
    "ConfigError",
    "Conflict",
    "Gone",
    "KubeConfig",
    "NotFound",
    "Object",
    "Unreachable",
    "WatchEvent",
]
