"""The HTTPS server that the API servers ask. It changes its certificate without a restart."""

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from aiohttp import web

from quiver.engine.webhooks.answering import Answering, Counts
from quiver.engine.webhooks.certificates import Pair
from quiver.engine.webhooks.endpoints import Endpoint

Bind = tuple[str, int]

LARGEST_BODY = 8 << 20
"""The API server takes objects up to 3 MB, and sends the old one along."""
# Longer than the 90 s after which the API server closes an idle connection itself. If we were
# first, a review on its way at that moment would fail: a POST is not sent again.
KEEP_ALIVE = 180.0
FINISH = 2.0


class Server:
    """Listens from its first certificate on."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        bind: Bind,
        counts: Callable[[str], Counts] | None = None,
    ) -> None:
        self._bind = bind
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._served: Pair | None = None
        self._is_serving = False
        app = web.Application(client_max_size=LARGEST_BODY)
        for endpoint in endpoints:
            answering = Answering(endpoint, counts(endpoint.path) if counts else None)
            app.router.add_post(endpoint.path, answering.answer)
        self._runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=KEEP_ALIVE, shutdown_timeout=FINISH
        )

    @property
    def is_serving(self) -> bool:
        """Whether it listens; the runner has a server a moment earlier."""
        return self._is_serving

    async def serve(self, pair: Pair) -> None:
        """With this certificate, as soon as it returns, on every new connection."""
        if pair != self._served:
            with _file_of(pair.certificate + pair.key) as path:
                self._tls.load_cert_chain(path)
            self._served = pair
        if not self._is_serving:
            if self._runner.server is None:
                await self._runner.setup()
            host, port = self._bind
            await web.TCPSite(self._runner, host, port, ssl_context=self._tls).start()
            self._is_serving = True

    async def stop(self) -> None:
        """Finishes the reviews that have begun."""
        self._is_serving = False
        await self._runner.cleanup()


@contextmanager
def _file_of(pem: bytes) -> Iterator[str]:
    """OpenSSL loads a certificate from a file only; where there is a memfd, it is on no disk."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile(suffix=".pem") as named:
            named.write(pem)
            named.flush()
            yield named.name
        return
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        yield f"/proc/self/fd/{descriptor}"
