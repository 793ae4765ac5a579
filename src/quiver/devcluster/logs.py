"""Shows the logs of a cluster's parts."""

import os
import subprocess
import sys

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home

LINES_OF_EACH = 5


def show(home: Home, component: str | None, *, tail: int | None, follow: bool) -> int:
    logs = {log.stem: log for log in sorted(home.logs.glob("*.log"))}
    if not logs:
        raise DevClusterError(f"cluster {home.name!r} has no logs: `quiver dev up` starts it")
    if component is not None and component not in logs:
        raise DevClusterError(f"there is no part {component!r}: choose from {', '.join(logs)}")
    chosen = [logs[component]] if component else list(logs.values())
    lines = tail if tail is not None else (LINES_OF_EACH if component is None else None)
    command = ["tail", f"--lines={'+1' if lines is None else lines}"]
    command += ["--follow=name", "--retry"] if follow else []
    sys.stdout.flush()
    return subprocess.run([*command, *map(str, chosen)], check=False, env=os.environ).returncode
