"""Programs built from a pinned Go module. Go's own caches keep what an interrupted build did."""

import os
import re
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from quiver.devcluster.binarycache import BinaryCache
from quiver.devcluster.catalog import Binary, BinaryError, Upstream
from quiver.devcluster.retries import Retries
from quiver.devcluster.toolchain import Toolchain

Note = Callable[[str], None]

_TAIL_LINES = 12
_PATIENCE = 10.0
_BUSY_SERVER = re.compile(
    r"\b(429|5\d\d) [A-Z]"
    r"|i/o timeout|handshake timeout|timed out|Client\.Timeout|deadline exceeded"
    r"|connection reset by peer|https?://.*unexpected EOF"
)
_PACKAGE = re.compile(r"[\w.~-]+(/[\w.~+-]+)*")


class GoBuilder:
    def __init__(
        self,
        modules: Path,
        cache: BinaryCache,
        *,
        arch: str,
        toolchain: Toolchain | None = None,
        retries: Retries | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._modules = modules
        self._cache = cache
        self._arch = arch
        self._toolchain = toolchain or Toolchain(cache)
        self._retries = retries or Retries()
        self._environ = environ

    def build(self, binaries: Sequence[Binary], into: Path, note: Note) -> dict[str, Path]:
        """Build programs of one upstream; returns name to file."""
        upstream = binaries[0].upstream
        module = self._module(upstream)
        go = self._toolchain.go_for(module / "go.mod", note)
        self._check_compiler(upstream)
        environ = build_environment(self._environ, go, self._arch, cgo=upstream.cgo)
        tags = ["seccomp"] if upstream.cgo and _has_library("libseccomp") else []
        with self._log(upstream) as log:
            run = _Runs(cwd=module, environ=environ, log=log, retries=self._retries)
            listed = run.until_done(list_command(go, binaries, tags), _downloads(note), note)
            total = sum(1 for line in listed if _PACKAGE.fullmatch(line))
            run.until_done(
                build_command(go, binaries, tags, into), _compilations(total, note), note
            )
        return {binary.name: into / go_output_name(binary.package) for binary in binaries}

    def _module(self, upstream: Upstream) -> Path:
        module = self._modules / upstream.folder
        if (module / "go.mod").is_file():
            return module
        raise BinaryError(
            f"the pinned Go module {module} is missing: install quiver again, or restore it"
            " with git"
        )

    def _check_compiler(self, upstream: Upstream) -> None:
        if upstream.cgo and not shutil.which("gcc", path=self._environ.get("PATH")):
            raise BinaryError(
                f"building {upstream.folder} needs a C compiler: install {upstream.folder} or gcc"
                " with this system's package manager"
            )

    @contextmanager
    def _log(self, upstream: Upstream) -> Iterator[IO[str]]:
        self._cache.logs.mkdir(parents=True, exist_ok=True)
        path = self._cache.logs / f"build-{upstream.folder}-{upstream.version}.log"
        with path.open("w", buffering=1) as log:
            yield log


class _Runs:
    """Runs Go, writes what it says to the log, and runs it again when a server was busy."""

    def __init__(
        self, *, cwd: Path, environ: dict[str, str], log: IO[str], retries: Retries
    ) -> None:
        self._cwd = cwd
        self._environ = environ
        self._log = log
        self._retries = retries

    def until_done(self, command: list[str], on_line: Note, note: Note) -> list[str]:
        for attempt in range(1, self._retries.tries + 1):
            status, output = self._once(command, on_line)
            if status == 0:
                return output
            if attempt == self._retries.tries or not is_worth_retrying(output):
                break
            note(f"the server is busy, try {attempt + 1} of {self._retries.tries}")
            self._retries.wait(attempt)
        raise BinaryError(self._failure(output))

    def _once(self, command: list[str], on_line: Note) -> tuple[int, list[str]]:
        self._log.write(f"$ {' '.join(command)}\n")
        output: list[str] = []
        with _running(command, self._cwd, self._environ) as process:
            assert process.stdout
            for line in process.stdout:
                self._log.write(line)
                output.append(line.rstrip("\n"))
                on_line(output[-1])
        return process.returncode, output

    def _failure(self, output: list[str]) -> str:
        tail = "\n".join(f"  {line}" for line in deque(output, _TAIL_LINES))
        return (
            f"building {self._cwd.name} failed, the full log is {self._log.name}; its end:\n{tail}"
        )


@contextmanager
def _running(
    command: list[str], cwd: Path, environ: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A group of its own: an interrupted build also ends the compilers that Go started.
        process_group=0,
    ) as process:
        try:
            yield process
            process.wait()
        except BaseException:
            _end_group(process)
            raise


def _end_group(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def list_command(go: Path, binaries: Sequence[Binary], tags: Sequence[str]) -> list[str]:
    packages = [binary.package for binary in binaries]
    return [str(go), "list", "-mod=readonly", *_tag_flags(tags), "-deps", *packages]


def build_command(
    go: Path, binaries: Sequence[Binary], tags: Sequence[str], into: Path
) -> list[str]:
    flags = ["-v", "-mod=readonly", "-trimpath", "-buildvcs=false", *_tag_flags(tags)]
    flags += ["-ldflags", linker_flags(binaries[0].upstream), "-o", f"{into}/"]
    return [str(go), "build", *flags, *(binary.package for binary in binaries)]


def linker_flags(upstream: Upstream) -> str:
    values = [f"-X {name}={value}" for name, value in upstream.linker_values.items()]
    return " ".join(["-s -w", *values])


def build_environment(
    environ: Mapping[str, str], go: Path, arch: str, *, cgo: bool
) -> dict[str, str]:
    chosen = {
        "PATH": f"{go.parent}:{environ.get('PATH', os.defpath)}",
        "GOTOOLCHAIN": "local",
        # Not empty: an empty variable would let a file written by `go env -w` speak.
        "GOFLAGS": "-mod=readonly",
        "GOWORK": "off",
        "GOOS": "linux",
        "GOARCH": arch,
        "CGO_ENABLED": "1" if cgo else "0",
    }
    return {name: value for name, value in environ.items() if name != "GOROOT"} | chosen


def go_output_name(package: str) -> str:
    """What `go build -o directory/` calls the program: a trailing `/v3` does not count."""
    *rest, last = package.split("/")
    return rest[-1] if rest and re.fullmatch(r"v[0-9]+", last) else last


def is_worth_retrying(output: Sequence[str]) -> bool:
    return any(_BUSY_SERVER.search(line) for line in output)


def _downloads(note: Note) -> Note:
    seen = 0

    def on_line(line: str) -> None:
        nonlocal seen
        if line.startswith("go: downloading"):
            seen += 1
            note(f"{seen} modules downloaded")

    return on_line


def _compilations(total: int, note: Note) -> Note:
    seen = 0

    def on_line(line: str) -> None:
        nonlocal seen
        if _PACKAGE.fullmatch(line):
            seen += 1
            note(f"{seen} of at most {total} packages")

    return on_line


def _tag_flags(tags: Sequence[str]) -> list[str]:
    return ["-tags", ",".join(tags)] if tags else []


def _has_library(name: str) -> bool:
    pkg_config = shutil.which("pkg-config")
    return pkg_config is not None and (
        subprocess.run([pkg_config, "--exists", name], check=False).returncode == 0
    )
