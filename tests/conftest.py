"""Marks tests by their tier and lends them the dev cluster's fixtures."""

from pathlib import Path

import pytest

pytest_plugins = ["quiver.devcluster.fixtures"]

TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = item.path.relative_to(TESTS).parts[0]
        item.add_marker(tier)
