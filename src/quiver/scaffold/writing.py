"""The files of a new repository, on disk."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from quiver.scaffold.names import CannotScaffold, Names


def write(files: Mapping[str, str], folder: Path) -> None:
    """Nothing that is there already is touched."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotScaffold(f"{folder} is there already: choose another folder with --into")
    for path, text in files.items():
        _write(folder / path, text)


def generate_chart(folder: Path, names: Names) -> None:
    """What the chart has from the code, as `make chart` in the new repository writes it."""
    definition = _printed(folder, names, "crds")
    _write(folder / "chart" / "crds" / f"{names.plural}.{names.group}.yaml", definition)
    options = ("--no-webhooks", "--namespace", "{{ .Release.Namespace }}")
    _write(folder / "chart" / "templates" / "rbac.yaml", _printed(folder, names, "rbac", *options))


def _printed(folder: Path, names: Names, *arguments: str) -> str:
    command: Sequence[str] = [sys.executable, "-m", names.package, *arguments]
    environment = os.environ | {"PYTHONPATH": str(folder.absolute() / "src")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
