"""Certificates of the webhook server, and their rotation."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.engine.webhooks.certificates import (
    CLOCK_SKEW,
    LIFETIME,
    Pair,
    issued,
    renewal_of,
    split_bundle,
)
from quiver.engine.webhooks.rotation import (
    Keyring,
    Settling,
    advanced,
    first_keyring,
    problem_with,
)
from quiver.engine.webhooks.shared_keyring import data_of, keyring_in, secret_with

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["hooks.quiver.svc", "127.0.0.1"]


def an_issue(now: datetime = START) -> tuple[bytes, Pair]:
    return issued(NAMES, now=now)


def a_keyring() -> Keyring:
    return first_keyring(an_issue)


def problem(keyring: Keyring, *, names: Sequence[str] = NAMES, now: datetime = START) -> str:
    return problem_with(keyring, names=names, now=now) or ""


def test_a_new_keyring_has_no_problem() -> None:
    assert problem(a_keyring()) == ""


def test_an_authority_can_sign_no_further_authority() -> None:
    authority, pair = an_issue()
    for pem, is_authority in ((authority, True), (pair.certificate, False)):
        certificate = x509.load_pem_x509_certificate(pem)
        limits = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        assert limits.ca is is_authority
        assert limits.path_length == (0 if is_authority else None)


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    _, pair = an_issue()
    life = CLOCK_SKEW + LIFETIME
    assert renewal_of(pair) == START - CLOCK_SKEW + life * 2 / 3


def test_a_keyring_that_cannot_serve_says_why() -> None:
    keyring, other = a_keyring(), a_keyring()
    mixed = Pair(certificate=keyring.served.certificate, key=other.served.key)
    broken = Pair(certificate=keyring.served.certificate, key=b"nonsense")
    replace = msgspec.structs.replace
    assert problem(replace(keyring, served=mixed)) == "the key does not belong to the certificate"
    assert "no authority in ca.crt signed" in problem(replace(keyring, trusted=other.trusted))
    assert "cannot be read as PEM" in problem(replace(keyring, served=broken))
    assert "cannot be read as PEM" in problem(replace(keyring, prepared=broken))
    assert "is not for elsewhere" in problem(keyring, names=["elsewhere"])
    assert "is not valid at 2026-04-01" in problem(keyring, now=START + LIFETIME)


def test_keys_appear_in_no_representation() -> None:
    keyring = a_keyring()
    assert "PRIVATE" not in repr(keyring)
    assert "PRIVATE" not in str([keyring.served])


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_keyring_survives_its_secret(steps: int) -> None:
    keyring = after(steps)
    assert keyring_in(secret_with(keyring, "here", "tls")) == keyring


def after(steps: int) -> Keyring:
    keyring = a_keyring()
    for _ in range(steps):
        keyring = advanced(keyring, now=START + LIFETIME, has_settled=True, issue=an_issue)
    return keyring


@pytest.mark.parametrize("damage", [{"tls.key": None}, {"ca.crt": "%"}, {"ca.crt": "aGk="}])
def test_a_damaged_secret_holds_no_keyring(damage: dict[str, Any]) -> None:
    data = {name: it for name, it in (data_of(a_keyring()) | damage).items() if it is not None}
    assert keyring_in({"data": data}) is None
    assert keyring_in({}) is None


def test_a_bundle_splits_into_what_it_was_made_of() -> None:
    trusted = (an_issue()[0], an_issue()[0])
    assert split_bundle(b"# ours\n" + b"".join(trusted)) == trusted


def test_nothing_happens_before_it_is_due() -> None:
    keyring = a_keyring()
    almost = renewal_of(keyring.served) - timedelta(seconds=1)
    assert advanced(keyring, now=almost, has_settled=True, issue=an_issue) is keyring


@pytest.mark.parametrize("steps", [1, 2])
def test_a_step_waits_until_the_one_before_has_settled(steps: int) -> None:
    keyring = after(steps)
    assert advanced(keyring, now=START, has_settled=False, issue=an_issue) is keyring
    assert advanced(keyring, now=START, has_settled=True, issue=an_issue) != keyring


def test_what_was_seen_settles_only_while_it_stays_the_same() -> None:
    clock = [START]
    settling = Settling(now=lambda: clock[0], pause=timedelta(minutes=1))
    one, other = a_keyring(), a_keyring()
    settling.saw(one)
    clock[0] += timedelta(minutes=1)
    settling.saw(one)
    assert settling.has_settled(one)
    assert not settling.has_settled(other)
    settling.saw(None)
    assert not settling.has_settled(one)
    settling.saw(one)
    assert not settling.has_settled(one)


PAUSE = timedelta(minutes=4)
LAG = PAUSE - timedelta(minutes=1)


class World:
    """A Secret, configurations, API servers and replicas that learn of them late, but in `LAG`."""

    def __init__(self, *, replicas: int = 2, servers: int = 2, steps: int = 0) -> None:
        self.clock = START
        self.signers: dict[Pair, bytes] = {}
        self.secret = first_keyring(self.issue)
        self.clock = renewal_of(self.secret.served) - PAUSE - timedelta(minutes=3)
        for _ in range(steps):
            self.secret = advanced(
                self.secret, now=START + LIFETIME, has_settled=True, issue=self.issue
            )
        self.configured = self.secret.trusted
        self.trusts = [self.secret.trusted] * servers
        self.serves = [self.secret.served] * replicas
        self.settlings = [self.a_settling() for _ in range(replicas)]
        for settling in self.settlings:
            settling.saw(self.secret)
        self.clock += PAUSE
        self.looked = dict.fromkeys(self.everybody(), self.clock)

    def everybody(self) -> list[tuple[str, int]]:
        replicas = [("replica", number) for number in range(len(self.serves))]
        return replicas + [("server", number) for number in range(len(self.trusts))]

    def a_settling(self) -> Settling:
        return Settling(now=lambda: self.clock, pause=PAUSE)

    def issue(self) -> tuple[bytes, Pair]:
        authority, pair = issued(NAMES, now=self.clock)
        self.signers[pair] = authority
        return authority, pair

    def look(self, kind: str, number: int) -> None:
        self.looked[kind, number] = self.clock
        if kind == "server":
            self.trusts[number] = self.configured
        else:
            self.step(number)
            self.configured = self.secret.trusted
            self.settlings[number].saw(self.secret)

    def step(self, number: int) -> None:
        settled = self.settlings[number].has_settled(self.secret)
        self.secret = advanced(self.secret, now=self.clock, has_settled=settled, issue=self.issue)
        self.serves[number] = self.secret.served

    def crash(self, number: int) -> None:
        """After the Secret was written, before the configurations were."""
        self.step(number)
        self.settlings[number] = self.a_settling()

    def wait(self, minutes: int) -> None:
        for _ in range(minutes):
            self.clock += timedelta(minutes=1)
            for (kind, number), when in list(self.looked.items()):
                if self.clock - when >= LAG:
                    self.look(kind, number)
            self.check()

    def check(self) -> None:
        for pair, trusted in itertools.product(self.serves, self.trusts):
            assert self.signers[pair] in trusted


moves = st.one_of(
    st.tuples(st.just("replica"), st.integers(0, 1)),
    st.tuples(st.just("server"), st.integers(0, 1)),
    st.tuples(st.just("crash"), st.integers(0, 1)),
    st.tuples(st.just("wait"), st.integers(1, 3)),
)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2), st.lists(moves, min_size=10, max_size=40))
def test_at_no_time_a_replica_serves_what_an_api_server_does_not_trust(
    steps: int, script: list[tuple[str, int]]
) -> None:
    world = World(steps=steps)
    for move, number in script:
        match move:
            case "wait":
                world.wait(number)
            case "crash":
                world.crash(number)
            case _:
                world.look(move, number)
        world.check()


def test_a_rotation_comes_to_its_end_by_itself() -> None:
    world = World()
    old = world.secret
    world.wait(30)
    assert world.secret.prepared is None
    assert len(world.secret.trusted) == 1
    assert world.secret.trusted != old.trusted
    assert set(world.serves) == {world.secret.served}
    assert set(world.trusts) == {world.secret.trusted}
