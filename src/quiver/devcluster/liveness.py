"""Whether a cluster runs, from what its supervisor last wrote and what /proc says now."""

import msgspec

from quiver.devcluster.home import Home
from quiver.devcluster.processes import Running, members


def running(home: Home) -> Running | None:
    try:
        return msgspec.json.decode(home.running.read_bytes(), type=Running)
    except FileNotFoundError:
        return None


def is_running(home: Home) -> bool:
    record, state = home.record(), running(home)
    if record is None or state is None:
        return False
    if record.spec.node:
        return bool(members(state.pid_namespace))
    return bool(state.supervisor and state.supervisor.is_running())
