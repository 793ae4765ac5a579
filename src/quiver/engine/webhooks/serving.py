"""The webhooks of an operator, as its manager runs them."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from quiver.engine.controller import Controller
from quiver.engine.kinds import SECRET, Kind
from quiver.engine.webhooks.answering import Counts
from quiver.engine.webhooks.certificates import LIFETIME
from quiver.engine.webhooks.configurations import Service, Url
from quiver.engine.webhooks.endpoints import endpoints_of
from quiver.engine.webhooks.noticing import notice_changes
from quiver.engine.webhooks.registration import Registration
from quiver.engine.webhooks.rotation import SETTLE, Settling
from quiver.engine.webhooks.server import Bind, Server
from quiver.engine.webhooks.shared_keyring import SharedKeyring, UnusableSecret
from quiver.kube import Client, Forbidden, KubeError
from quiver.kube.backoff import Backoff

log = logging.getLogger(__name__)

SECRET_NAME = "quiver-webhook-tls"  # noqa: S105
RECHECK = 300.0
"""In seconds. Shorter than `SETTLE`: a replica whose watch is broken still learns in time."""
RETRIES = Backoff(first=1.0, ceiling=60.0)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Webhooks:
    """Serves admission reviews, and keeps certificates and configurations fresh.

    Exactly one of `service` (in the cluster) and `url` (outside) says how API servers get here.
    With no controllers at all it only removes the configurations: that is how to turn it off.
    Without the rights it needs it says so in the log and does not serve: configurations fail open,
    and the reconcile repeats the validation.
    """

    def __init__(
        self,
        client: Client,
        controllers: Iterable[Controller[Any]],
        *,
        namespace: str,
        service: str | None = None,
        url: str | None = None,
        bind: Bind = ("0.0.0.0", 9443),  # noqa: S104
        name: str = "",
        secret: str = SECRET_NAME,
        now: Callable[[], datetime] = _utc_now,
        lifetime: timedelta = LIFETIME,
        settle: timedelta = SETTLE,
        recheck: float = RECHECK,
        retries: Backoff = RETRIES,
        counts: Callable[[str], Counts] | None = None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name or f"quiver-{namespace}"
        self._secret = secret
        self._recheck = recheck
        self._retries = retries
        self._endpoints = endpoints_of(controllers)
        to = _way_here(namespace, service, url) if self._endpoints else Service(namespace, "")
        self._registration = Registration(client, self._endpoints, name=self._name, to=to)
        self._keyring = SharedKeyring(
            client, namespace=namespace, name=secret, names=to.hosts, now=now, lifetime=lifetime
        )
        self._settling = Settling(now=now, pause=settle)
        self._server = Server(self._endpoints, bind=bind, counts=counts)
        self._wake = asyncio.Event()
        self._problem = ""
        self._failures = 0
        self._may_not = False
        self._is_tidy = False

    def ready(self) -> str | None:
        """Why the operator should not be asked yet; None if it may."""
        if not self._endpoints or self._server.is_serving or self._may_not:
            return None
        return f"the webhooks are not served yet: {self._problem or 'there is no certificate'}"

    async def run(self) -> None:
        """Until cancelled; without any webhook, until those of earlier days are gone."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for watch in self._watches():
                    tasks.create_task(watch)
                while True:
                    await self.ensure()
                    if self._is_done():
                        return
                    await self._until_woken()
        finally:
            await self._server.stop()

    async def ensure(self) -> None:
        """One look at everything: Secret, server, configurations. What is amiss is mended."""
        try:
            await self._ensure()
        except (KubeError, UnusableSecret) as error:
            self._failures += 1
            self._settling.saw(None)
            self._may_not = isinstance(error, Forbidden)
            self._complain(str(error))
        else:
            self._failures, self._may_not, self._problem = 0, False, ""

    async def _ensure(self) -> None:
        if self._endpoints:
            await self._serve()
        if not self._is_tidy:
            await self._registration.remove_unneeded()
            self._is_tidy = True

    async def _serve(self) -> None:
        keyring = await self._keyring.ensure(self._settling.has_settled)
        # Served before it is announced: nobody is sent to a closed door.
        await self._server.serve(keyring.served)
        await self._registration.ensure(keyring.bundle)
        self._settling.saw(keyring)

    def _complain(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("webhooks: %s; objects may be checked at the reconcile only", problem)
        self._problem = problem

    def _is_done(self) -> bool:
        return not self._endpoints and self._is_tidy

    def _watches(self) -> Iterable[Coroutine[Any, Any, None]]:
        if not self._endpoints:
            return
        yield self._watch(SECRET, self._secret, self._namespace)
        for kind in self._registration.kinds:
            yield self._watch(kind, self._name, None)

    def _watch(self, kind: Kind, name: str, namespace: str | None) -> Coroutine[Any, Any, None]:
        return notice_changes(
            self._client, kind, name, namespace, wake=self._wake, backoff=self._retries
        )

    async def _until_woken(self) -> None:
        pause = self._retries.pause(self._failures) if self._failures else self._recheck
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._wake.wait()
        # Before the next look, not after it: a change during the look must wake us again.
        self._wake.clear()


def _way_here(namespace: str, service: str | None, url: str | None) -> Service | Url:
    if service and not url:
        return Service(namespace, service)
    if url and not service:
        return Url(url)
    raise ValueError("the webhooks need either the name of their Service or a URL")
