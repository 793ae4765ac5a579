"""Leader election in virtual time: who leads when, and what is never true."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.leading.election import CandidacyEnded, Election
from quiver.engine.leading.leases import Hold, Lease, Sighting, Timing, new_lease, own_identity
from quiver.kube import ApiError, Conflict, Forbidden, NotFound, Unreachable
from support.lease_server import LeaseClient, LeaseServer
from support.virtual_time import happens_within, in_virtual_time, now

START = datetime(2025, 1, 1, tzinfo=UTC)
FAILURES = [
    Unreachable("no route"),
    ApiError(500, "InternalError", "etcd is slow"),
    Conflict(409, "Conflict", "touched"),
]


def candidate(client: LeaseClient, identity: str, *, skew: float = 0.0) -> Election:
    """`skew` is how wrong its wall clock is."""
    return Election(
        client.client,
        name="quiver",
        namespace="ns",
        identity=identity,
        now=now,
        sleep=asyncio.sleep,
        today=lambda: START + timedelta(seconds=now() + skew),
        jitter=lambda: 0.5,
    )


async def killed(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.wait([running])


@in_virtual_time
async def test_the_first_candidate_leads_at_once_and_renews_every_two_seconds() -> None:
    server = LeaseServer()
    client = LeaseClient(server)
    async with candidate(client, "a") as election:
        assert await happens_within(1, election.acquired())
        await asyncio.sleep(60)
        assert election.leads()
        assert 29 <= client.calls.count(("replace", "quiver")) <= 30
        assert server.spec("quiver") == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2025-01-01T00:00:00.001000Z",
            "renewTime": server.spec("quiver")["renewTime"],
            "leaseTransitions": 0,
        }


@in_virtual_time
async def test_a_successor_waits_out_a_silent_leader_and_no_longer() -> None:
    server = LeaseServer()
    first, second = LeaseClient(server), LeaseClient(server)
    leader = candidate(first, "a")
    running = asyncio.create_task(leader.run())
    await leader.acquired()
    async with candidate(second, "b") as successor:
        await asyncio.sleep(30)
        first.is_cut = True
        cut = now()
        await leader.lost()
        assert now() - cut <= 10
        assert not leader.leads()
        assert not successor.leads()
        await successor.acquired()
        assert 15 - 2 <= now() - cut <= 15 + 2.5
    await running


@in_virtual_time
async def test_wrong_wall_clocks_change_nothing() -> None:
    server = LeaseServer()
    async with candidate(LeaseClient(server), "a", skew=-86400) as leader:
        await leader.acquired()
        async with candidate(LeaseClient(server), "b", skew=86400) as other:
            assert not await happens_within(120, other.acquired())
            assert leader.leads()


@in_virtual_time
async def test_a_released_lease_is_taken_within_one_retry() -> None:
    server = LeaseServer()
    async with candidate(LeaseClient(server), "a") as leader:
        await leader.acquired()
        async with candidate(LeaseClient(server), "b") as successor:
            await asyncio.sleep(5)
            await leader.release()
            assert "holderIdentity" not in server.spec("quiver")
            assert await happens_within(2.5, successor.acquired())
            assert server.spec("quiver")["leaseTransitions"] == 1


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@in_virtual_time
async def test_a_leader_rides_out_a_failure(failure: Exception) -> None:
    client = LeaseClient(LeaseServer())
    async with candidate(client, "a") as leader:
        await leader.acquired()
        client.failing += [failure, failure]  # type: ignore[list-item]
        assert not await happens_within(60, leader.lost())
        assert leader.leads()


@in_virtual_time
async def test_a_leader_rides_out_a_lost_answer() -> None:
    client = LeaseClient(LeaseServer())
    async with candidate(client, "a") as leader:
        await leader.acquired()
        client.loses_answers = 1
        assert not await happens_within(60, leader.lost())


@in_virtual_time
async def test_a_candidate_whose_answer_was_lost_leads_all_the_same() -> None:
    client = LeaseClient(LeaseServer())
    async with candidate(client, "a") as election:
        client.loses_answers = 1
        assert await happens_within(10, election.acquired())


@in_virtual_time
async def test_a_leader_whose_lease_another_took_stops_at_once() -> None:
    server = LeaseServer()
    async with candidate(LeaseClient(server), "a") as leader:
        await leader.acquired()
        thief = Lease(server.leases["quiver"]).held("thief", at=START, duration=15)
        server.put("MODIFIED", thief.obj)
        assert await happens_within(2.5, leader.lost())
        assert not leader.leads()
    assert server.spec("quiver")["holderIdentity"] == "thief"


@in_virtual_time
async def test_a_candidate_that_saw_the_lease_vanish_waits_for_its_holder_to_notice() -> None:
    server = LeaseServer()
    first = LeaseClient(server)
    leader = candidate(first, "a")
    running = asyncio.create_task(leader.run())
    await leader.acquired()
    async with candidate(LeaseClient(server), "b") as other:
        await asyncio.sleep(5)
        first.is_cut = True
        server.put("DELETED", server.leases["quiver"])
        await leader.lost()
        assert not other.leads()
        assert await happens_within(15, other.acquired())
    await killed(running)


@in_virtual_time
async def test_a_leader_that_wakes_up_late_does_not_lead() -> None:
    """Its process was stopped: no task ran, only the clock."""
    clock = 0.0
    client = LeaseClient(LeaseServer())
    election = Election(client.client, name="q", namespace="ns", identity="a", now=lambda: clock)
    running = asyncio.create_task(election.run())
    await election.acquired()
    assert election.leads()
    clock = 10.0
    assert not election.leads()
    await election.lost()
    await running


@in_virtual_time
async def test_no_request_of_a_leader_is_awaited_beyond_its_validity() -> None:
    client = LeaseClient(LeaseServer())
    leader = candidate(client, "a")
    running = asyncio.create_task(leader.run())
    await leader.acquired()
    client.is_cut = True
    valid_until = leader.valid_until
    await running
    assert now() <= valid_until + 0.01


@pytest.mark.parametrize(
    ("failure", "remedy"),
    [
        (Forbidden(403, "Forbidden", "no"), "(grant get, create and update on leases in namespace"),
        (NotFound(404, "NotFound", "namespaces ns"), "(create namespace ns, or choose another"),
    ],
    ids=["forbidden", "no namespace"],
)
@in_virtual_time
async def test_a_candidate_says_once_what_it_lacks_and_keeps_trying(
    failure: Exception, remedy: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = LeaseClient(LeaseServer())
    # A missing Lease is nothing to complain of: the second request creates it.
    gone = NotFound(404, "NotFound", "quiver")
    client.failing += [gone, failure, gone, failure, gone, failure]  # type: ignore[list-item]
    async with candidate(client, "a") as election:
        await election.acquired()
    complaints = [record.getMessage() for record in caplog.records]
    assert len(complaints) == 1
    assert remedy in complaints[0]


@in_virtual_time
async def test_a_candidate_that_gives_up_is_told_that_it_never_led() -> None:
    server = LeaseServer()
    async with candidate(LeaseClient(server), "a") as leader:
        await leader.acquired()
        other = candidate(LeaseClient(server), "b")
        async with other:
            await asyncio.sleep(1)
        with pytest.raises(CandidacyEnded):
            await other.acquired()
        assert leader.leads()


def test_a_holder_that_could_outlast_its_lease_is_refused() -> None:
    with pytest.raises(ValueError, match="0 < retry < renew deadline < duration"):
        Timing(duration=10, renew_deadline=10)


def test_a_hold_counts_from_when_its_renewal_was_sent() -> None:
    hold = Hold(sent=0, renew_deadline=10)
    hold.renewed(sent=4, at=9)
    assert hold.valid_until == 14


def test_a_hold_that_is_over_stays_over() -> None:
    hold = Hold(sent=0, renew_deadline=10)
    hold.renewed(sent=9, at=10)
    assert not hold.is_valid(10)


@given(st.lists(st.tuples(st.floats(0, 5), st.booleans()), min_size=1))
def test_only_a_change_prolongs_what_was_seen(looks: list[tuple[float, bool]]) -> None:
    at, changed_at, version = 0.0, 0.0, 1
    sighting = Sighting("1", 0.0, 15.0)
    for pause, changed in looks:
        at += pause
        if changed:
            version, changed_at = version + 1, at
        sighting = sighting.again(str(version), at=at)
    assert sighting.until == changed_at + 15.0


def test_what_others_wrote_into_a_lease_stays() -> None:
    lease = Lease(
        {
            **new_lease("quiver", "ns").obj,
            "metadata": {"name": "quiver", "labels": {"team": "blue"}, "annotations": {"a": "b"}},
            "spec": {"strategy": "OldestEmulationVersion", "holderIdentity": "x"},
        }
    )
    held = lease.held("a", at=START, duration=15).released(at=START)
    assert held.obj["metadata"] == lease.obj["metadata"]
    assert held.spec["strategy"] == "OldestEmulationVersion"


def test_identities_differ_between_runs() -> None:
    assert own_identity() != own_identity()
