"""Kubeconfig files as kubectl reads them: several may be merged, and the first word counts.

Of two entries with one name the one from the earlier file is taken, whole. The current context is
the first that any file names. Files inside an entry are found relative to its own kubeconfig.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from quiver.kube.errors import ConfigError

Document = dict[str, Any]


class Entry(NamedTuple):
    """One cluster, user or context, and the folder from which its relative paths start."""

    value: Document
    base: Path

    def file(self, key: str) -> Path | None:
        """The file that `key` names, unless the data is given inline: that counts more."""
        if self.value.get(f"{key}-data") or not self.value.get(key):
            return None
        return self.base / str(self.value[key])

    def text(self, key: str) -> str | None:
        if data := self.value.get(f"{key}-data"):
            return self._decoded(key, str(data))
        path = self.file(key)
        return None if path is None else read(path)

    def _decoded(self, key: str, data: str) -> str:
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ConfigError(f"{key}-data in {self.base} is no base64 text") from error


class Chosen(NamedTuple):
    cluster: Entry
    user: Entry
    namespace: str


class Kubeconfigs:
    """One or more files, read."""

    def __init__(self, files: Sequence[tuple[Path, Document]]) -> None:
        self._files = files

    @property
    def current_context(self) -> str | None:
        named = (document.get("current-context") for _, document in self._files)
        return next((str(name) for name in named if name), None)

    @property
    def contexts(self) -> list[str]:
        found = {
            str(entry["name"]): None
            for _, document in self._files
            for entry in document.get("contexts") or []
        }
        return list(found)

    def choose(self, context: str | None) -> Chosen:
        chosen = self._entry("contexts", context or self.current_context).value
        return Chosen(
            cluster=self._entry("clusters", chosen.get("cluster")),
            user=self._entry("users", chosen.get("user")),
            namespace=chosen.get("namespace") or "default",
        )

    def _entry(self, section: str, name: str | None) -> Entry:
        for path, document in self._files:
            for entry in document.get(section) or []:
                if entry.get("name") == name:
                    return Entry(entry.get(section.removesuffix("s")) or {}, path.parent)
        names = os.pathsep.join(str(path) for path, _ in self._files)
        raise ConfigError(f"kubeconfig {names} has no entry {name!r} under {section}")


def read_files(paths: Sequence[Path]) -> Kubeconfigs:
    return Kubeconfigs([(path, _document(path)) for path in paths])


def default_paths(environment: Mapping[str, str], home: Path) -> list[Path]:
    """The files of $KUBECONFIG that exist, or ~/.kube/config; none at all is an empty list."""
    listed = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [path for path in listed or [home / ".kube" / "config"] if path.exists()]


def read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def _document(path: Path) -> Document:
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read kubeconfig {path}: {_without_contents(error)}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"cannot read kubeconfig {path}: it holds no mapping")
    return document


def _without_contents(error: OSError | UnicodeDecodeError | yaml.YAMLError) -> str:
    """A YAML error quotes the line it stumbled over, which may be a token."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"{error.problem} in line {error.problem_mark.line + 1}"
    return str(error) if isinstance(error, OSError) else "it is no YAML"
