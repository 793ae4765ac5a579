"""One running cluster in the hands of a program: a test, the demo, a benchmark."""

import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from quiver.devcluster import imagestore
from quiver.devcluster.binaries import Binaries
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.home import Home
from quiver.devcluster.network import Network
from quiver.devcluster.progress import Progress
from quiver.devcluster.waiting import until
from quiver.kube import Client, KubeConfig, NotFound


class DevCluster:
    def __init__(self, home: Home, progress: Progress | None = None) -> None:
        self.home = home
        self.progress = progress or Progress()
        self._kubectl: Path | None = None

    @property
    def name(self) -> str:
        return self.home.name

    @property
    def kubeconfig(self) -> Path:
        return self.home.kubeconfig

    @property
    def network(self) -> Network:
        record = self.home.record()
        if record is None or record.network is None:
            raise DevClusterError(f"cluster {self.name!r} has no node")
        return record.network

    @asynccontextmanager
    async def client(self, context: str | None = None) -> AsyncIterator[Client]:
        async with Client(KubeConfig.load(self.kubeconfig, context)) as client:
            yield client

    async def make_namespace(self, client: Client, name: str) -> None:
        """A namespace in which pods can be created at once, where there are controllers."""
        await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        record = self.home.record()
        if record is None or not record.spec.runs_controllers:
            return

        async def missing() -> str | None:
            try:
                await client.get("v1", "ServiceAccount", "default", name)
            except NotFound:
                return f"namespace {name} has no default service account"
            return None

        await until(missing, within=30)

    async def load_images(self, names: Iterable[str]) -> None:
        await imagestore.load_known(self.home, self.network, names, self.progress)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl printed; its complaint as an error."""
        done = subprocess.run(
            [self._kubectl_path(), f"--kubeconfig={self.kubeconfig}", *arguments],
            input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise DevClusterError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _kubectl_path(self) -> Path:
        if self._kubectl is None:
            self._kubectl = Binaries.default(self.progress).ensure(["kubectl"])["kubectl"]
        return self._kubectl
