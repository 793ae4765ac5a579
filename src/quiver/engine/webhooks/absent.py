"""Webhooks that are turned off: what an earlier start registered is taken away.

Without it API servers would go on asking nobody, and wait for the answer. Nothing of certificates
is imported here: an operator without webhooks saves 8 MB.
"""

import logging
from collections.abc import Iterable
from typing import Any

from quiver.engine.controller import Controller
from quiver.engine.webhooks.configurations import Service
from quiver.engine.webhooks.endpoints import endpoints_of
from quiver.engine.webhooks.registration import Registration
from quiver.kube import Client, KubeError

log = logging.getLogger(__name__)


class NoWebhooks:
    """Looks only where one of the controllers could have been registered: others have no rights."""

    def __init__(
        self, client: Client, controllers: Iterable[Controller[Any]], *, namespace: str
    ) -> None:
        to = Service(namespace, "")
        self._verbs = {endpoint.verb for endpoint in endpoints_of(controllers)}
        self._registration = Registration(client, [], name=f"quiver-{namespace}", to=to)

    def ready(self) -> None:
        """Nobody asks."""

    async def run(self) -> None:
        for verb in self._verbs:
            try:
                await self._registration.remove(verb)
            except KubeError as error:
                log.info("Webhook configurations of earlier starts may be left: %s", error)
