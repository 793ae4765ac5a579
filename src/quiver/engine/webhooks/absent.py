"""Webhooks that are turned off: what an earlier start registered is taken away.

Without it API servers would go on asking nobody, and wait for the answer. Nothing of certificates
is imported here: an operator without webhooks saves 8 MB.
"""

import logging

from quiver.engine.webhooks.configurations import Service
from quiver.engine.webhooks.registration import Registration
from quiver.kube import Client, KubeError

log = logging.getLogger(__name__)


class NoWebhooks:
    def __init__(self, client: Client, *, namespace: str) -> None:
        to = Service(namespace, "")
        self._registration = Registration(client, [], name=f"quiver-{namespace}", to=to)

    def ready(self) -> None:
        """Nobody asks."""

    async def run(self) -> None:
        try:
            await self._registration.remove_unneeded()
        except KubeError as error:
            log.info("Webhook configurations of earlier starts may be left: %s", error)
