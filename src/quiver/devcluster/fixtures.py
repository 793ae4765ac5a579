"""pytest fixtures: a real API server, a real cluster, a namespace for each test.

    # conftest.py
    pytest_plugins = ["quiver.devcluster.fixtures"]

Clusters are started by the first test that needs one, shared by all workers of a run, and ended
with the run. They are tied to the run by a lock: when it is killed, its clusters end too.
QUIVER_TEST_CLUSTER=NAME lends an existing cluster to the tests that need a node.
"""

import contextlib
import fcntl
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from quiver.devcluster import paths
from quiver.devcluster.down import down
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.home import Home, is_held, records
from quiver.devcluster.progress import Progress
from quiver.devcluster.spec import Spec
from quiver.devcluster.up import up
from quiver.kube import Client

RUN = "QUIVER_TEST_RUN"
LENT = "QUIVER_TEST_CLUSTER"
PREFIXES = ("api", "e2e")


def pytest_configure(config: pytest.Config) -> None:
    if RUN not in os.environ:
        os.environ[RUN] = uuid.uuid4().hex[:8]
        config.stash[_LEASH] = _take_leash()


def pytest_unconfigure(config: pytest.Config) -> None:
    leash = config.stash.get(_LEASH, None)
    if leash is None:
        return
    for prefix in PREFIXES:
        down(Home(f"{prefix}-{os.environ[RUN]}"), Progress())
    os.close(leash)
    _leash_path().unlink(missing_ok=True)
    del os.environ[RUN]


@pytest.fixture(scope="session")
def api_server() -> DevCluster:
    """A real API server, empty at the start of the run, without controllers or nodes."""
    return _start(Spec(name=f"api-{os.environ[RUN]}", node=False, tied_to=str(_leash_path())))


@pytest.fixture(scope="module")
def own_api_server() -> Iterator[DevCluster]:
    """An API server for one module alone, which may be killed or filled with anything."""
    server = _start(Spec(name=_unique("own"), node=False, tied_to=str(_leash_path())))
    yield server
    down(server.home, Progress())


@pytest.fixture(scope="session")
def cluster() -> DevCluster:
    """A real cluster with a node that offers two pretend GPUs and has the samples' labels."""
    if lent := os.environ.get(LENT):
        return DevCluster(Home(lent))
    labels = {"instance/db": "true", "node.kubernetes.io/instance-type": "c5.4xlarge"}
    name = f"e2e-{os.environ[RUN]}"
    return _start(Spec(name=name, gpus=2, node_labels=labels, tied_to=str(_leash_path())))


@pytest.fixture
async def api_client(api_server: DevCluster) -> AsyncIterator[Client]:
    async with api_server.client() as client:
        yield client


@pytest.fixture
async def cluster_client(cluster: DevCluster) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        yield client


@pytest.fixture
async def namespace(api_server: DevCluster, api_client: Client) -> str:
    """A namespace of this test's own on the API server; it ends with the run."""
    name = _unique("test")
    await api_server.make_namespace(api_client, name)
    return name


@pytest.fixture
async def cluster_namespace(cluster: DevCluster, cluster_client: Client) -> AsyncIterator[str]:
    """A namespace of this test's own on the cluster; its pods end with the test."""
    name = _unique("test")
    await cluster.make_namespace(cluster_client, name)
    yield name
    await cluster_client.delete("v1", "Namespace", name)


def _remove_abandoned() -> None:
    """Clusters of runs that were killed: they have ended, but their folders are left."""
    for name, record in records().items():
        if record.spec.tied_to and not is_held(Path(record.spec.tied_to)):
            with contextlib.suppress(FileNotFoundError):  # Another worker was quicker.
                down(Home(name), Progress())


def _start(spec: Spec) -> DevCluster:
    _remove_abandoned()
    progress = Progress()
    return DevCluster(up(spec, progress), progress)


def _unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


_LEASH = pytest.StashKey[int]()


def _leash_path() -> Path:
    return paths.state_dir() / "locks" / f"run-{os.environ[RUN]}"


def _take_leash() -> int:
    """Held until this process ends, however it ends."""
    path = _leash_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    leash = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(leash, fcntl.LOCK_EX)
    return leash
