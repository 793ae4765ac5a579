"""The keyring in its Secret: one for all replicas, agreed upon by create and compare-and-swap.

| key                   | what it is                                                   |
|-----------------------|--------------------------------------------------------------|
| `ca.crt`              | the authorities to trust: `caBundle` of the configurations   |
| `tls.crt`, `tls.key`  | what every replica serves                                    |
| `next.crt`, `next.key`| during a rotation: what they will serve, once it is trusted  |

A Secret that is gone or broken is written again from what this replica serves, so that no
admission fails; only if that is no good either, from a new certificate. One that does not carry
our label is somebody's own: it is used as it is, and never written.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from quiver.engine.kinds import SECRET
from quiver.engine.webhooks.certificates import LIFETIME, Pair, issued, split_bundle
from quiver.engine.webhooks.ownership import LABELS, is_ours
from quiver.engine.webhooks.rotation import Keyring, advanced, first_keyring, problem_with
from quiver.kube import Client, Conflict, NotFound, Object

ATTEMPTS = 5


class UnusableSecret(Exception):
    """Somebody's own Secret, and the webhook server cannot serve with it."""


class SharedKeyring:
    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        names: Sequence[str],
        now: Callable[[], datetime],
        lifetime: timedelta = LIFETIME,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._names = names
        self._now = now
        self._lifetime = lifetime
        self._last_good: Keyring | None = None

    async def ensure(self, has_settled: Callable[[Keyring], bool]) -> Keyring:
        """The keyring to serve with, after whatever step it was time for."""
        for attempt in range(1, ATTEMPTS + 1):
            live = await self._read()
            keyring = self._wanted(live, has_settled)
            try:
                await self._write(live, keyring)
            except (Conflict, NotFound):  # Another replica was quicker, or somebody deleted it.
                if attempt == ATTEMPTS:
                    raise
                continue
            break
        self._last_good = keyring
        return keyring

    def _wanted(self, live: Object | None, has_settled: Callable[[Keyring], bool]) -> Keyring:
        found = keyring_in(live) if live else None
        problem = self._problem_with(found)
        if live is not None and not is_ours(live):
            if problem:
                raise UnusableSecret(self._complaint(problem))
            assert found is not None
            return found
        if found is None or problem:
            return self._replacement()
        settled = has_settled(found)
        return advanced(found, now=self._now(), has_settled=settled, issue=self._issue)

    def _replacement(self) -> Keyring:
        last = self._last_good
        return first_keyring(self._issue) if last is None or self._problem_with(last) else last

    def _problem_with(self, keyring: Keyring | None) -> str | None:
        if keyring is None:
            return "ca.crt, tls.crt or tls.key is missing or cannot be read"
        return problem_with(keyring, names=self._names, now=self._now())

    def _issue(self) -> tuple[bytes, Pair]:
        return issued(self._names, now=self._now(), lifetime=self._lifetime)

    async def _read(self) -> Object | None:
        try:
            return await self._client.get(
                SECRET.api_version, SECRET.name, self._name, self._namespace
            )
        except NotFound:
            return None

    async def _write(self, live: Object | None, keyring: Keyring) -> None:
        if live is None:
            await self._client.create(secret_with(keyring, self._namespace, self._name))
        elif keyring_in(live) != keyring:
            await self._client.replace(live | {"data": data_of(keyring)})

    def _complaint(self, problem: str) -> str:
        label = next(f"{key}={value}" for key, value in LABELS.items())
        return (
            f"Secret {self._namespace}/{self._name} is not Quiver's (no label {label}) and "
            f"cannot serve the webhooks: {problem}; mend it, or delete it to have one made"
        )


def secret_with(keyring: Keyring, namespace: str, name: str) -> Object:
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.name,
        "metadata": {"name": name, "namespace": namespace, "labels": LABELS},
        "type": "kubernetes.io/tls",
        "data": data_of(keyring),
    }


def data_of(keyring: Keyring) -> dict[str, str]:
    data = {
        "ca.crt": keyring.bundle,
        "tls.crt": keyring.served.certificate,
        "tls.key": keyring.served.key,
    }
    if keyring.prepared:
        data |= {"next.crt": keyring.prepared.certificate, "next.key": keyring.prepared.key}
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


def keyring_in(secret: Object) -> Keyring | None:
    """None if something is missing or cannot be read; whether it is any good, others decide."""
    try:
        data = _decoded(secret.get("data") or {})
        prepared = _pair(data, "next") if "next.crt" in data else None
        trusted = split_bundle(data["ca.crt"])
        return Keyring(trusted=trusted, served=_pair(data, "tls"), prepared=prepared)
    except (KeyError, ValueError):
        return None


def _decoded(data: dict[str, Any]) -> dict[str, bytes]:
    try:
        return {name: base64.b64decode(value) for name, value in data.items()}
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _pair(data: dict[str, bytes], name: str) -> Pair:
    return Pair(certificate=data[f"{name}.crt"], key=data[f"{name}.key"])
