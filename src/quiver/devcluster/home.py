"""The state directory of one dev cluster: where each file is, and the record of what was made."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from quiver.devcluster import paths
from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.network import Network
from quiver.devcluster.spec import Spec, checked_name


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What `down` must know to remove a cluster, written before anything is made."""

    spec: Spec
    network: Network | None = None
    api_ports: list[int] = []


class ForeignRecord(DevClusterError):
    """A record that this version cannot read, and therefore does not touch."""


class Home:
    def __init__(self, name: str, root: Path | None = None) -> None:
        self.name = checked_name(name)
        self.root = root or paths.state_dir()
        self.path = self.root / "clusters" / name
        self.logs = self.path / "log"
        self.data = self.path / "data"
        self.volumes = self.path / "volumes"
        self.config = self.path / "config"
        self.kubeconfig = self.path / "kubeconfig"
        self.processes = self.path / "processes.json"
        self.running = self.path / "running.json"
        self.alive = self.path / "alive.lock"
        self.supervisor_log = self.logs / "supervisor.log"
        self.containerd_socket = self.path / "containerd.sock"
        self._record = self.path / "cluster.json"

    def pki(self, api_server: int = 1) -> Path:
        return self.path / "pki" / str(api_server)

    def record(self) -> Record | None:
        try:
            return msgspec.json.decode(self._record.read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except msgspec.ValidationError as error:
            raise ForeignRecord(
                f"cluster {self.name!r} in {self.path} was made by another version of Quiver:"
                f" end it with that version ({error})"
            ) from error

    def write(self, record: Record) -> Record:
        self.logs.mkdir(parents=True, exist_ok=True)
        write_atomically(self._record, msgspec.json.encode(record))
        return record

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One `up` or `down` of a name at a time; the lock outlives the directory it guards."""
        with locked(self.root / "locks" / self.name):
            yield


def homes(root: Path | None = None) -> list[Home]:
    folder = (root or paths.state_dir()) / "clusters"
    return [Home(path.name, root) for path in sorted(folder.glob("*"))] if folder.is_dir() else []


def records(root: Path | None = None) -> dict[str, Record]:
    """Of the clusters that this version of Quiver made; it leaves others alone."""
    found = {}
    for home in homes(root):
        with contextlib.suppress(ForeignRecord):
            if record := home.record():
                found[home.name] = record
    return found


def visible_homes() -> list[Home]:
    """This user's clusters, and those that root made for everybody on this machine."""
    own = paths.state_dir()
    everybodys = (
        [] if own == paths.ROOTS_STATE or "QUIVER_STATE" in os.environ else [paths.ROOTS_STATE]
    )
    return [home for root in (own, *everybodys) for home in homes(root)]


def find_home(name: str) -> Home:
    """The cluster of that name, or where it would be."""
    return next((home for home in visible_homes() if home.name == name), Home(name))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock, without waiting for it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def write_atomically(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)
