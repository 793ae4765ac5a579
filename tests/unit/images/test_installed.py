"""Exactly the packages that are needed are found, with exactly their files."""

from pathlib import Path

import pytest

from quiver.images import CannotCollect, HostFile
from quiver.images.installed import closure, distribution_files, metadata_files

NEEDS = {
    "app": ["web>=1", "old; python_version < '3'", "fast; extra == 'speed'"],
    "web": ["core[more]", "app"],
    "core": ["extra-one; extra == 'more'", "extra-two; extra == 'less'"],
}


def _requires(name: str) -> list[str]:
    return NEEDS.get(name, [])


def test_the_closure_follows_markers_extras_and_circles() -> None:
    assert closure("app", requires=_requires) == ["core", "extra-one", "web"]


def test_an_extra_that_is_asked_for_is_in_the_closure() -> None:
    assert "fast" in closure("app", ["speed"], requires=_requires)


@pytest.mark.parametrize("order", [["core", "late"], ["late", "core"]])
def test_an_extra_asked_for_later_is_not_forgotten(order: list[str]) -> None:
    needs = {"app": order, "late": ["core[more]"], "core": ["x; extra == 'more'"]}
    assert "x" in closure("app", requires=lambda name: needs.get(name, []))


def test_the_operator_needs_no_tool_of_its_developers() -> None:
    found = closure("quiver-operator")
    assert {"aiohttp", "cffi", "cryptography", "msgspec", "pyyaml", "uvloop"} <= set(found)
    assert not {"pytest", "mypy", "ruff", "hatchling"} & set(found)


def test_a_package_that_is_not_installed_is_named() -> None:
    with pytest.raises(CannotCollect, match="pip install no-such-package"):
        closure("no-such-package")


def test_a_package_is_taken_without_its_scripts_and_caches() -> None:
    entries = distribution_files("cffi", Path("/site"))
    paths = {entry.path for entry in entries}
    assert "/site/cffi/__init__.py" in paths
    assert all(path.startswith("/site/") and "__pycache__" not in path for path in paths)
    assert all(isinstance(entry, HostFile) and entry.source.is_file() for entry in entries)


def test_the_operator_s_metadata_is_all_that_is_taken_from_its_installation() -> None:
    names = {Path(entry.path).name for entry in metadata_files("quiver-operator", Path("/site"))}
    assert names == {"METADATA", "entry_points.txt"}
