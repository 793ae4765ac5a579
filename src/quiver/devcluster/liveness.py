"""Whether a cluster runs. Its supervisor holds a lock for as long as it lives.

The kernel lets go of a lock with its holder, however that ends, and tells everybody who asks:
other users, other namespaces. Process numbers could be reused, and are not the same everywhere.
"""

import fcntl
import os

import msgspec

from quiver.devcluster.home import Home, is_held
from quiver.devcluster.processes import Running


def running(home: Home) -> Running | None:
    """What the supervisor last said of its processes."""
    try:
        return msgspec.json.decode(home.running.read_bytes(), type=Running)
    except FileNotFoundError:
        return None


def hold(home: Home) -> int:
    """Called by the supervisor; the lock goes when the descriptor does."""
    descriptor = os.open(home.alive, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def is_running(home: Home) -> bool:
    return is_held(home.alive)
