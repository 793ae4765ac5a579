"""No write without a lease, and none that outlives it."""

import asyncio
import math

import pytest

from quiver.engine.leading.fence import Fence, LeaseEnded
from quiver.kube.faults import CannedAnswer
from quiver.kube.request import Answer, Request


def request(method: str) -> Request:
    return Request(method=method, path="/x", deadline=5.0)


async def send(_: Request) -> Answer:
    return CannedAnswer(200, "OK", "", None)


async def hang(_: Request) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def test_reads_need_no_lease() -> None:
    assert (await Fence(lambda: -math.inf)(request("GET"), send)).status == 200


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
async def test_writes_do_not_begin_without_one(method: str) -> None:
    with pytest.raises(LeaseEnded, match="does not hold the lease"):
        await Fence(lambda: -math.inf)(request(method), send)


async def test_a_write_under_a_valid_lease_passes() -> None:
    assert (await Fence(lambda: math.inf)(request("POST"), send)).status == 200


async def test_a_write_is_cut_off_when_the_lease_ends() -> None:
    until = asyncio.get_running_loop().time() + 0.05
    with pytest.raises(LeaseEnded, match="before the answer came"):
        await Fence(lambda: until)(request("POST"), hang)
