"""Keeps the webhook configurations in the cluster as the endpoints need them, or away."""

import logging
from collections.abc import Sequence

from quiver.engine.kinds import Kind
from quiver.engine.webhooks.configurations import KINDS, Service, Url, configuration, must_apply
from quiver.engine.webhooks.endpoints import Endpoint, Verb
from quiver.engine.webhooks.ownership import is_ours
from quiver.kube import Client, Forbidden, NotFound, Object

log = logging.getLogger(__name__)


class Registration:
    def __init__(
        self, client: Client, endpoints: Sequence[Endpoint], *, name: str, to: Service | Url
    ) -> None:
        self._client = client
        self._endpoints = endpoints
        self._name = name
        self._to = to
        self._applied: dict[Verb, tuple[Object, str]] = {}

    @property
    def needed(self) -> list[Verb]:
        return [verb for verb in Verb if self._of(verb)]

    @property
    def kinds(self) -> list[Kind]:
        return [KINDS[verb] for verb in self.needed]

    async def ensure(self, bundle: bytes) -> None:
        """When this returns, the API servers have been told to trust exactly this bundle."""
        for verb in self.needed:
            await self._ensure(verb, bundle)

    async def remove_unneeded(self) -> None:
        """What an earlier version or another setting of this operator left."""
        for verb in Verb:
            if not self._of(verb):
                await self.remove(verb)

    def _of(self, verb: Verb) -> list[Endpoint]:
        return [endpoint for endpoint in self._endpoints if endpoint.verb is verb]

    async def _ensure(self, verb: Verb, bundle: bytes) -> None:
        endpoints = self._of(verb)
        wanted = configuration(verb, endpoints, name=self._name, to=self._to, bundle=bundle)
        live = await self._read(verb)
        if not must_apply(live, wanted) or self._was_applied_in_vain(verb, live, wanted):
            return
        applied = await self._client.apply(wanted, force=live is None or is_ours(live))
        self._applied[verb] = wanted, applied["metadata"]["resourceVersion"]

    def _was_applied_in_vain(self, verb: Verb, live: Object | None, wanted: Object) -> bool:
        """A webhook that somebody added stays through any apply: once is enough."""
        version = live["metadata"]["resourceVersion"] if live else ""
        return self._applied.get(verb) == (wanted, version)

    async def remove(self, verb: Verb) -> None:
        kind = KINDS[verb]
        try:
            live = await self._read(verb)
            if live is None or not is_ours(live):
                return
            await self._client.delete(
                kind.api_version, kind.name, self._name, uid=live["metadata"]["uid"],
                missing_ok=True,
            )  # fmt: skip
        except Forbidden as error:
            # Rights are only given for what is needed, so usually there is nothing to remove.
            log.info("whether %s %s has to be removed is unknown: %s", kind, self._name, error)

    async def _read(self, verb: Verb) -> Object | None:
        kind = KINDS[verb]
        try:
            return await self._client.get(kind.api_version, kind.name, self._name)
        except NotFound:
            return None
