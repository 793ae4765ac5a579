"""From nothing to a ready program, whatever happens on the way."""

import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TextIO

import pytest

from quiver.devcluster import paths
from quiver.devcluster.binaries import Binaries, BinaryError
from quiver.devcluster.binarycache import BinaryCache
from quiver.devcluster.catalog import Binary, Release, Upstream
from quiver.devcluster.gobuild import GoBuilder
from quiver.devcluster.progress import Progress
from quiver.devcluster.releases import Releases
from quiver.devcluster.retries import Retries

_FAKE_GO = """#!/bin/sh
case "$1" in
  version) echo "go version go1.99.0 linux/amd64" ;;
  list) echo example.com/hello ;;
  build)
    echo "$$" >> builds
    echo example.com/compiling
    if [ -e hang ]; then exec sleep 60; fi
    while [ -e slow ]; do sleep 0.02; done
    while [ "$1" != -o ]; do shift; done
    for package in hello world; do echo "built" > "$2$package"; done ;;
esac
"""

# What another process runs: the module is loaded from this very file.
_OTHER_PROCESS = """
import importlib.util, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
spec = importlib.util.spec_from_file_location("sandbox", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.Sandbox(Path(sys.argv[2])).binaries(sys.stderr).ensure(["hello"])
"""


class Sandbox:
    """A cache, a pinned module and a pretended Go in one directory; releases are off."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = BinaryCache(root / "cache", "amd64")
        self.module = root / "upstream" / "hello"
        self.said = io.StringIO()
        self.base = "off"
        self.free = 100 * 1024**3
        self.on_system: str | None = None

    def prepare(self) -> "Sandbox":
        self.module.mkdir(parents=True)
        (self.module / "go.mod").write_text("module example.com/hello\n\ngo 1.21\n")
        go = self.root / "bin" / "go"
        go.parent.mkdir()
        go.write_text(_FAKE_GO)
        go.chmod(0o755)
        return self

    def binaries(self, stream: TextIO | None = None) -> Binaries:
        retries = Retries(sleep=lambda _: None)
        return Binaries(
            cache=self.cache,
            releases=Releases(
                self.cache.downloads, arch="amd64", base=self.base, retries=retries, patience=0.5
            ),
            builder=GoBuilder(self.root / "upstream", self.cache, arch="amd64", retries=retries),
            progress=Progress(stream or self.said),
            known=self.known(),
            free_bytes=lambda _: self.free,
            on_system=lambda _: self.on_system,
        )

    def known(self) -> dict[str, Binary]:
        upstream = Upstream(
            folder="hello",
            version="1.0.0",
            usually="a second",
            release=Release(
                url="https://dl/{name}-{version}-{arch}",
                checksums="https://dl/{name}-{version}-{arch}.sha256",
            ),
        )
        names = ("hello", "world", "runc")
        return {
            name: Binary(
                name=name,
                file=name,
                package=f"example.com/{name}",
                upstream=upstream,
                prefer_system=name == "runc",
            )
            for name in names
        }

    def builds(self) -> list[int]:
        log = self.module / "builds"
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def is_compiling(self) -> bool:
        """Go runs, and the process that started it listens to it."""
        log = self.cache.logs / "build-hello-1.0.0.log"
        return log.exists() and log.read_text().endswith("example.com/compiling\n")

    def entry(self, name: str) -> Path:
        return self.cache.root / "bin" / "linux-amd64" / name / "1.0.0"

    def leftovers(self) -> list[Path]:
        return list((self.cache.root / "work").glob("*/*/*"))

    def in_another_process(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _OTHER_PROCESS, __file__, str(self.root)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return Sandbox(tmp_path).prepare()


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_is_missing_is_built_once_and_then_found(sandbox: Sandbox) -> None:
    assert sandbox.binaries().find("hello") is None
    made = sandbox.binaries().ensure(["hello", "world", "hello"])
    assert made == {name: sandbox.entry(name) / name for name in ("hello", "world")}
    assert os.access(made["hello"], os.X_OK)
    assert sandbox.binaries().ensure(["world"]) == {"world": made["world"]}
    assert sandbox.binaries().find("hello") == made["hello"]
    assert len(sandbox.builds()) == 1
    assert sandbox.leftovers() == []


def test_a_build_says_that_it_is_for_the_first_time_only(sandbox: Sandbox) -> None:
    sandbox.binaries().ensure(["hello", "world"])
    start, end = sandbox.said.getvalue().splitlines()
    assert start == "… building hello, world (first time only, usually a second)"
    assert end.startswith("✓ building hello, world (0:0")


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_the_real_go_fills_the_cache(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    sandbox.module.mkdir(parents=True)
    (sandbox.module / "go.mod").write_text("module example.com/hello\n\ngo 1.21\n")
    (sandbox.module / "main.go").write_text('package main\n\nfunc main() { println("hi") }\n')
    program = sandbox.binaries().ensure(["hello"])["hello"]
    assert program.read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: (entry / "hello").write_text("bUilt\n"),
        lambda entry: (entry / "hello").write_text(""),
        lambda entry: (entry / "hello").unlink(),
        lambda entry: (entry / "entry.json").unlink(),
        lambda entry: (entry / "entry.json").write_text("{}"),
    ],
    ids=["changed", "emptied", "gone", "without a record", "with an empty record"],
)
def test_a_damaged_program_is_reported_once_and_built_again(
    damage: Callable[[Path], object], sandbox: Sandbox
) -> None:
    sandbox.binaries().ensure(["hello"])
    damage(sandbox.entry("hello"))
    assert sandbox.binaries().find("hello") is None
    sandbox.said.truncate(0)
    assert sandbox.binaries().ensure(["hello"])["hello"].read_text() == "built\n"
    assert len(sandbox.builds()) == 2
    assert sandbox.said.getvalue().count("the cached hello 1.0.0 is damaged") == 1


def test_two_processes_at_once_build_once(sandbox: Sandbox) -> None:
    slow = sandbox.module / "slow"
    slow.touch()
    first = sandbox.in_another_process()
    _until(sandbox.builds)
    second = sandbox.in_another_process()
    assert second.stderr
    assert second.stderr.readline() == "… waiting for another process that gets hello\n"
    slow.unlink()
    said = [process.communicate()[1] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert "✓ building hello" in said[0]
    assert "building" not in said[1]
    assert len(sandbox.builds()) == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_no_entry_and_the_next_one_completes(
    end: signal.Signals, sandbox: Sandbox
) -> None:
    hang = sandbox.module / "hang"
    hang.touch()
    process = sandbox.in_another_process()
    _until(sandbox.is_compiling)
    process.send_signal(end)
    process.communicate()
    assert process.returncode != 0
    assert not sandbox.entry("hello").exists()
    hang.unlink()
    assert sandbox.binaries().ensure(["hello"])["hello"].read_text() == "built\n"
    assert sandbox.leftovers() == []
    if end is signal.SIGKILL:
        os.kill(sandbox.builds()[0], signal.SIGKILL)


def test_an_interrupted_build_ends_the_compiler_too(sandbox: Sandbox) -> None:
    (sandbox.module / "hang").touch()
    process = sandbox.in_another_process()
    _until(sandbox.is_compiling)
    process.send_signal(signal.SIGINT)
    process.communicate()
    with pytest.raises(ProcessLookupError):
        os.kill(sandbox.builds()[0], 0)


def test_a_full_disk_is_told_before_anything_is_done(sandbox: Sandbox) -> None:
    sandbox.free = 1024**3
    with pytest.raises(BinaryError) as failure:
        sandbox.binaries().ensure(["hello"])
    assert str(failure.value) == (
        f"hello needs 3 GB of free disk and {sandbox.cache.root} has 1.0 GB: free some there, or"
        " set QUIVER_CACHE to a directory on a larger disk"
    )
    assert sandbox.builds() == []


def test_a_full_disk_does_not_matter_once_all_is_there(sandbox: Sandbox) -> None:
    sandbox.binaries().ensure(["hello"])
    sandbox.free = 0
    assert sandbox.binaries().ensure(["hello"])


def test_a_cache_that_cannot_be_written_is_named(sandbox: Sandbox) -> None:
    sandbox.cache.root.touch()
    with pytest.raises(BinaryError, match=r"cannot write to the cache .*: set QUIVER_CACHE to"):
        sandbox.binaries().ensure(["hello"])


def test_an_unknown_program_is_refused_with_the_known_ones(sandbox: Sandbox) -> None:
    with pytest.raises(BinaryError, match="no program 'hallo'; there are hello, world, runc"):
        sandbox.binaries().ensure(["hallo"])


def test_the_runc_of_the_system_is_preferred_and_not_copied(sandbox: Sandbox) -> None:
    sandbox.on_system = "/usr/sbin/runc"
    assert sandbox.binaries().find("runc") == Path("/usr/sbin/runc")
    assert sandbox.binaries().ensure(["runc"]) == {"runc": Path("/usr/sbin/runc")}
    assert not sandbox.cache.root.exists()


def test_only_what_is_preferred_from_the_system_is_taken_from_there(sandbox: Sandbox) -> None:
    sandbox.on_system = "/usr/bin/hello"
    assert sandbox.binaries().find("hello") is None


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def mirror(sandbox: Sandbox) -> Iterator[Path]:
    """A directory served as the release server."""
    folder = sandbox.root / "mirror"
    folder.mkdir()
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        sandbox.base = f"http://127.0.0.1:{server.server_port}"
        yield folder
        server.shutdown()
        thread.join()


def _publish(mirror: Path, name: str, content: bytes, sha256: str | None = None) -> None:
    file = mirror / f"{name}-1.0.0-amd64"
    file.write_bytes(content)
    checksum = sha256 or hashlib.sha256(content).hexdigest()
    file.with_name(f"{file.name}.sha256").write_text(f"{checksum}  {file.name}\n")


def test_a_release_is_preferred_to_a_build(sandbox: Sandbox, mirror: Path) -> None:
    _publish(mirror, "hello", b"released")
    assert sandbox.binaries().ensure(["hello"])["hello"].read_text() == "released"
    assert sandbox.builds() == []
    assert '"source": "release"' in (sandbox.entry("hello") / "entry.json").read_text()
    assert "✓ downloading hello" in sandbox.said.getvalue()


def test_a_release_with_a_wrong_checksum_is_told_and_built_instead(
    sandbox: Sandbox, mirror: Path
) -> None:
    _publish(mirror, "hello", b"tampered", sha256="0" * 64)
    assert sandbox.binaries().ensure(["hello"])["hello"].read_text() == "built\n"
    assert "does not have the checksum that its project published: building hello instead" in (
        sandbox.said.getvalue()
    )


def test_what_was_downloaded_stays_when_the_next_file_is_missing(
    sandbox: Sandbox, mirror: Path
) -> None:
    _publish(mirror, "hello", b"released")
    made = sandbox.binaries().ensure(["hello", "world"])
    assert [made[name].read_text() for name in ("hello", "world")] == ["released", "built\n"]


def test_an_unreachable_release_server_is_told_once_and_built_instead(sandbox: Sandbox) -> None:
    sandbox.base = "http://127.0.0.1:1"
    binaries = sandbox.binaries()
    assert binaries.ensure(["hello"])["hello"].read_text() == "built\n"
    binaries.ensure(["world"])
    assert sandbox.said.getvalue().count("127.0.0.1:1 does not answer") == 1


def test_the_cache_is_where_the_user_says() -> None:
    home = Path.home()
    assert paths.cache_dir({"QUIVER_CACHE": "/c", "XDG_CACHE_HOME": "/x"}) == Path("/c")
    assert paths.cache_dir({"XDG_CACHE_HOME": "/x"}) == Path("/x/quiver")
    assert paths.cache_dir({"XDG_CACHE_HOME": "relative"}) == home / ".cache" / "quiver"
    assert paths.cache_dir({}) == home / ".cache" / "quiver"


def test_the_state_is_where_the_user_says() -> None:
    assert paths.state_dir({"QUIVER_STATE": "/s"}, user=0) == Path("/s")
    assert paths.state_dir({}, user=0) == Path("/var/lib/quiver")
    assert paths.state_dir({"XDG_STATE_HOME": "/x"}, user=1000) == Path("/x/quiver")
    assert paths.state_dir({}, user=1000) == Path.home() / ".local" / "state" / "quiver"


def test_another_system_is_refused_with_what_to_use() -> None:
    assert paths.architecture("Linux", "aarch64") == "arm64"
    with pytest.raises(BinaryError, match="this is Darwin on arm64: use a Linux machine"):
        paths.architecture("Darwin", "arm64")
