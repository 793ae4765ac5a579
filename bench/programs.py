"""The peers, ready to run: built or installed once, from the registries, at pinned versions."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from bench.benchmark import BenchError
from quiver.devcluster import paths
from quiver.devcluster.binarycache import BinaryCache
from quiver.devcluster.gobuild import build_environment
from quiver.devcluster.progress import Progress
from quiver.devcluster.toolchain import Toolchain

ROOT = Path(__file__).parent.parent
PEERS = ROOT / "bench" / "peers"


def go_program(module: Path, progress: Progress) -> Path:
    """Go's own cache makes this quick whenever nothing changed."""
    arch = paths.architecture()
    program = _home() / module.name
    with progress.step(f"building {module.name}", "3 min", first_time_only=True) as step:
        go = Toolchain(BinaryCache(paths.cache_dir(), arch)).go_for(module / "go.mod", step.note)
        command = [str(go), "build", "-mod=readonly", "-trimpath", "-buildvcs=false"]
        environ = build_environment(os.environ, go, arch, cgo=False)
        _run([*command, "-o", str(program), "."], cwd=module, environ=environ)
    return program


def python_environment(requirements: Path, progress: Progress) -> Path:
    """The folder of its programs. Another environment for each set of pins, whole or not there."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    home = _home() / f"{requirements.parent.name}-{digest}"
    ready = home / ".ready"
    if not ready.exists():
        with progress.step(f"installing {requirements.parent.name}", "20 s", first_time_only=True):
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            install = [str(home / "bin" / "pip"), "install", "--quiet", "--require-hashes"]
            _run([*install, "--disable-pip-version-check", "-r", str(requirements)])
            ready.touch()
    return home / "bin"


def _home() -> Path:
    home = paths.cache_dir() / "bench"
    home.mkdir(parents=True, exist_ok=True)
    return home


def _run(command: list[str], *, cwd: Path = ROOT, environ: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()}")
