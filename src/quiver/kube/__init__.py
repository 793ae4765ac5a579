"""One API server: configuration, requests, server-side apply, watch."""

from quiver.kube.client import Client, Object
from quiver.kube.config import Impersonation, KubeConfig
from quiver.kube.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    ConfigError,
    Conflict,
    CredentialError,
    DisruptionBudgetExceeded,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    ServerTimeout,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from quiver.kube.events import RawEvent, WatchEvent, ends_initial_events
from quiver.kube.paging import Page

__all__ = [
    "AlreadyExists",
    "ApiError",
    "ApplyConflict",
    "Client",
    "ConfigError",
    "Conflict",
    "CredentialError",
    "DisruptionBudgetExceeded",
    "Forbidden",
    "Gone",
    "Impersonation",
    "Invalid",
    "KubeConfig",
    "KubeError",
    "NotFound",
    "Object",
    "Page",
    "RawEvent",
    "ServerTimeout",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "Unreachable",
    "WatchEvent",
    "ends_initial_events",
]
