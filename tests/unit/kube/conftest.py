"""A server that answers as told, for the tests of the client's parts."""

from collections.abc import AsyncIterator

import pytest

from unit.kube.fake_api import FakeApi, serving


@pytest.fixture
async def fake() -> AsyncIterator[FakeApi]:
    async with serving() as api:
        yield api
