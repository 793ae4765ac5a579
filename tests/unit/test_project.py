"""What every checkout promises, whatever the code does."""

import re
from pathlib import Path

import pytest
import yaml

from quiver import __version__

ROOT = Path(__file__).parents[2]
UPSTREAM = sorted(path for path in (ROOT / "upstream").iterdir() if path.is_dir())
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_file_names_no_host(file: str) -> None:
    text = (ROOT / file).read_text()
    assert "://" not in text
    assert set(re.findall(r"^\s*(-[\w-]+)", text, flags=re.MULTILINE)) == {"--hash"}


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_every_package_in_a_lock_file_is_pinned_by_version_and_hash(file: str) -> None:
    lines = (ROOT / file).read_text().splitlines()
    packages = [index for index, line in enumerate(lines) if re.match(r"[A-Za-z0-9]", line)]
    assert packages
    for index in packages:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==\S+( ; .*)? \\", lines[index]), lines[index]
        assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", lines[index + 1])


@pytest.mark.parametrize("folder", UPSTREAM, ids=_name)
def test_every_upstream_is_a_go_module_with_checksums(folder: Path) -> None:
    assert (folder / "go.mod").read_text().startswith("module ")
    assert (folder / "go.sum").stat().st_size > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=_name)
def test_every_example_is_made_of_kubernetes_objects(path: Path) -> None:
    documents = [it for it in yaml.safe_load_all(path.read_text()) if it is not None]
    assert documents
    for document in documents:
        assert document["apiVersion"]
        assert document["kind"]


def test_there_are_examples_and_upstreams_to_look_at() -> None:
    assert EXAMPLES
    assert UPSTREAM


def test_the_changelog_tells_of_this_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert __version__ in headings
