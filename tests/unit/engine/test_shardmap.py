"""Who should own which shard: properties of the arithmetic."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.kinds import Key
from quiver.engine.leading.shardmap import (
    FREE,
    ShardMap,
    UnreadableMap,
    decode_map,
    encode_map,
    fair_owners,
    new_map,
    shard_of,
)

SHARDS_OF_SITES = [243, 214, 50, 85]
NAMES = ["a", "b", "c", "d", "e"]

owner_lists = st.lists(st.sampled_from([FREE, *NAMES]), min_size=1, max_size=24)
members = st.sets(st.sampled_from(NAMES), min_size=1)


def moved(before: Sequence[str], after: Sequence[str]) -> int:
    return sum(old != new for old, new in zip(before, after, strict=True))


def fewest_moves(owners: Sequence[str], present: set[str]) -> int:
    """By trying every balanced distribution."""
    held = Counter(owners)
    each, odd = divmod(len(owners), len(present))
    kept = (
        sum(min(held[member], each + (member in lucky)) for member in present)
        for lucky in combinations(sorted(present), odd)
    )
    return len(owners) - max(kept)


@given(owner_lists, members)
def test_every_shard_goes_to_a_member(owners: list[str], present: set[str]) -> None:
    assert set(fair_owners(owners, present)) <= present


@given(owner_lists, members)
def test_shares_are_equal_within_one(owners: list[str], present: set[str]) -> None:
    shares = Counter(fair_owners(owners, present))
    sizes = [shares[member] for member in present]
    assert max(sizes) - min(sizes) <= 1


@given(owner_lists, members)
def test_no_distribution_that_is_balanced_moves_fewer(owners: list[str], present: set[str]) -> None:
    assert moved(owners, fair_owners(owners, present)) == fewest_moves(owners, present)


@given(owner_lists, members)
def test_a_fair_distribution_is_left_alone(owners: list[str], present: set[str]) -> None:
    fair = fair_owners(owners, present)
    assert fair_owners(fair, present) == fair


@given(owner_lists, members, st.randoms(use_true_random=False))
def test_replicas_that_take_their_part_one_by_one_soon_have_a_fair_distribution(
    owners: list[str], present: set[str], order: random.Random
) -> None:
    """What is too much is free, as its owners left it; then each takes its own, in any order.

    Twice, as the odd shards may be another's once all have as many.
    """
    fair = fair_owners(owners, present)
    current = [old if old == new else FREE for old, new in zip(owners, fair, strict=True)]
    for member in order.sample(sorted(present), len(present)) * 2:
        wanted = fair_owners(current, present)
        current = [
            member if new == member and old == FREE else old
            for old, new in zip(current, wanted, strict=True)
        ]
    assert FREE not in current
    assert fair_owners(current, present) == tuple(current)


@given(st.lists(st.sampled_from([FREE, *NAMES]), max_size=40), st.integers(0, 1 << 40))
def test_a_map_is_read_as_it_was_written(owners: list[str], version: int) -> None:
    shard_map = ShardMap(tuple(owners), version)
    assert decode_map(encode_map(shard_map), len(owners)) == shard_map


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"version":1,"shards":4,"owners":{"a":"0-9"}}',
        '{"version":1,"shards":4,"owners":{"a":"x"}}',
        '{"version":1,"shards":4,"owners":{"a":"0-2","b":"2"}}',
        '{"version":1,"shards":-4,"owners":{}}',
        '{"version":1,"shards":4,"owners":{"a":"-1"}}',
    ],
)
def test_a_map_that_was_broken_by_hand_is_refused(text: str) -> None:
    with pytest.raises(UnreadableMap, match="stop all replicas and delete its Lease"):
        decode_map(text, 4)


def test_a_map_of_another_size_is_refused() -> None:
    with pytest.raises(UnreadableMap, match="has 4 shards and this replica works with 8"):
        decode_map(encode_map(new_map(4)), 8)


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_key_is_in_one_of_the_shards(namespace: str, name: str) -> None:
    assert 0 <= shard_of(Key(namespace, name), 7) < 7


def test_a_key_has_the_same_shard_in_every_process_and_version() -> None:
    assert [shard_of(Key("team", f"site-{number}")) for number in range(4)] == SHARDS_OF_SITES
    code = (
        "from quiver.engine.leading.shardmap import shard_of; from quiver.engine.kinds import Key;"
        "print([shard_of(Key('team', f'site-{number}')) for number in range(4)])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(SHARDS_OF_SITES)


def test_keys_spread_over_the_shards() -> None:
    filled = Counter(shard_of(Key("team", f"site-{number}")) for number in range(25_600))
    assert len(filled) == 256
    assert max(filled.values()) < 160
    assert min(filled.values()) > 50
