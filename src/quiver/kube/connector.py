"""aiohttp's connections, for streams and proxies, made as `handshakes.py` tells."""

from typing import Any

import aiohttp

from quiver.kube.handshakes import Handshakes


class Connector(aiohttp.TCPConnector):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._handshakes = Handshakes()

    async def _create_connection(self, *arguments: Any) -> Any:
        making = super()._create_connection(*arguments)
        return await self._handshakes.made(making, lambda protocol: protocol.close())

    async def settled(self) -> None:
        await self._handshakes.settled()
