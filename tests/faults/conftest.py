"""All tests here need the kind to be served before the operator starts."""

import pytest

from quiver.engine.installing.definitions import On, settle
from quiver.kube import Client
from quiver.vecodex.controller import VecodexController


@pytest.fixture(autouse=True)
async def _served(api_client: Client) -> None:
    standings = await settle(api_client, [VecodexController], install=True)
    assert isinstance(standings["vecodex"], On)
