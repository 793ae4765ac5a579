"""A fresh API server for each run: no kubelet, no controllers, nothing in it."""

import asyncio
import fcntl
import io
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bench.processes import usage_of
from bench.running import until_quiet
from quiver.devcluster import liveness, paths
from quiver.devcluster.down import down
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec
from quiver.devcluster.up import up
from quiver.kube import Client

PATIENCE = 60.0
# Its own timers, and etcd's, take a few hundredths of a core.
QUIET_SHARE = 0.15


@contextmanager
def leash() -> Iterator[Path]:
    """A lock that ends with this process, however it ends; API servers tied to it end too."""
    path = paths.state_dir() / "locks" / f"run-bench-{os.getpid()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


@asynccontextmanager
async def fresh_api_server(tied_to: Path) -> AsyncIterator[DevCluster]:
    spec = Spec(name=f"bench-{os.getpid()}", node=False, tied_to=str(tied_to))
    silent = Progress(io.StringIO(), animated=False)
    # `up` runs an event loop of its own, which must not be inside of this one.
    home = await asyncio.to_thread(up, spec, silent)
    try:
        yield DevCluster(home, silent)
    finally:
        await asyncio.to_thread(down, home, silent)


async def metrics(client: Client) -> str:
    return (await client.raw("GET", "/metrics")).decode()


def server_cpu(cluster: DevCluster) -> float:
    """Seconds that the API server and etcd have used."""
    said = liveness.running(cluster.home)
    children = said.children.values() if said else []
    return sum(usage_of(child.pid).cpu for child in children if child)


async def server_quiet(cluster: DevCluster) -> None:
    """A server that just started, or got a new kind, is busy with itself for some seconds."""
    await until_quiet(lambda: server_cpu(cluster), share=QUIET_SHARE, within=PATIENCE)
