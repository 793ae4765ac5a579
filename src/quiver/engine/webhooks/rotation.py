"""From one serving certificate to the next without a failed admission. Pure.

The API servers learn of a new authority from the webhook configurations, the replicas of a new
certificate from the Secret, each in its own time. So there are three steps, and between two of
them a pause that is longer than anybody needs to learn of the step before:

    step         trusted      served   prepared
    (before)     old          old
    prepare      old, new     old      new
    promote      old, new     new
    retire       new          new
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import msgspec

from quiver.engine.webhooks.certificates import Pair, problem_with_pair, renewal_of
from quiver.kube.secretive import Secretive

SETTLE = timedelta(minutes=15)

Issue = Callable[[], tuple[bytes, Pair]]
"""Makes an authority, and the certificate that it signed."""


class Keyring(Secretive, frozen=True, kw_only=True):
    """All that the replicas share. `trusted` are the authorities' certificates, as PEM."""

    trusted: tuple[bytes, ...]
    served: Pair
    prepared: Pair | None = None

    @property
    def bundle(self) -> bytes:
        return b"".join(self.trusted)


def first_keyring(issue: Issue) -> Keyring:
    authority, pair = issue()
    return Keyring(trusted=(authority,), served=pair)


def advanced(keyring: Keyring, *, now: datetime, has_settled: bool, issue: Issue) -> Keyring:
    """One step further, if it is time for one; otherwise the same."""
    if keyring.prepared is not None:
        return _promoted(keyring, keyring.prepared) if has_settled else keyring
    if len(keyring.trusted) > 1:
        return _retired(keyring) if has_settled else keyring
    return _prepared(keyring, issue) if now >= renewal_of(keyring.served) else keyring


def problem_with(keyring: Keyring, *, names: Sequence[str], now: datetime) -> str | None:
    """Why it cannot be used, as a sentence without secrets; None if it can."""
    pairs = [keyring.served, *([keyring.prepared] if keyring.prepared else ())]
    try:
        problems = [
            problem_with_pair(pair, trusted=keyring.trusted, names=names, now=now) for pair in pairs
        ]
    except (ValueError, TypeError):
        # Not the error's own text: it could quote what it could not read, and that may be a key.
        return "a certificate or key in it cannot be read as PEM"
    return next((problem for problem in problems if problem), None)


class Settling:
    """For how long this process has seen the same keyring trusted everywhere.

    Kept in memory only: a restart waits anew, and no clock is compared with another one.
    """

    def __init__(self, *, now: Callable[[], datetime], pause: timedelta = SETTLE) -> None:
        self._now = now
        self._pause = pause
        self._seen: Keyring | None = None
        self._since: datetime | None = None

    def saw(self, keyring: Keyring | None) -> None:
        """None: nobody knows at the moment whether it is trusted."""
        if keyring is None or keyring != self._seen:
            self._seen, self._since = keyring, self._now()

    def has_settled(self, keyring: Keyring) -> bool:
        if keyring != self._seen or self._since is None:
            return False
        return self._now() - self._since >= self._pause


def _prepared(keyring: Keyring, issue: Issue) -> Keyring:
    authority, pair = issue()
    return msgspec.structs.replace(keyring, trusted=(*keyring.trusted, authority), prepared=pair)


def _promoted(keyring: Keyring, pair: Pair) -> Keyring:
    return Keyring(trusted=keyring.trusted, served=pair)


def _retired(keyring: Keyring) -> Keyring:
    return msgspec.structs.replace(keyring, trusted=keyring.trusted[-1:])
