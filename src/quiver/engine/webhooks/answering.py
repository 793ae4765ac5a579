"""One endpoint over HTTP: a review comes in, an answer goes out, and both are counted."""

import asyncio
import logging
import time
import traceback
from typing import Protocol

from aiohttp import web

from quiver.engine.webhooks.configurations import TIMEOUT_SECONDS
from quiver.engine.webhooks.endpoints import Endpoint
from quiver.engine.webhooks.review import BadReview, reviewed

log = logging.getLogger(__name__)

ASIDE_FROM = 128 << 10
"""Reviews from this size on are answered in a thread, so that the reconciles go on meanwhile."""
CLIENT_WENT_AWAY = 499


class Counts(Protocol):
    def started(self) -> None: ...

    def ended(self, code: int, seconds: float) -> None: ...


class Answering:
    def __init__(self, endpoint: Endpoint, counts: Counts | None = None) -> None:
        self._endpoint = endpoint
        self._counts = counts

    async def answer(self, request: web.Request) -> web.Response:
        if self._counts is None:
            return await self._answer(request)
        started, code = time.perf_counter(), CLIENT_WENT_AWAY
        self._counts.started()
        try:
            response = await self._answer(request)
            code = response.status
        finally:
            self._counts.ended(code, time.perf_counter() - started)
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        """Whatever is not an answer, the failure policy decides about."""
        try:
            review = await self._reviewed(await _body_of(request))
        except BadReview as error:
            return web.Response(status=400, text=str(error))
        except web.HTTPException as error:
            return web.Response(status=error.status, text=error.text)
        except Exception as error:
            return self._failed(error)
        return web.Response(body=review, content_type="application/json")

    async def _reviewed(self, body: bytes) -> bytes:
        if len(body) >= ASIDE_FROM:
            return await asyncio.to_thread(reviewed, self._endpoint, body)
        return reviewed(self._endpoint, body)

    def _failed(self, error: Exception) -> web.Response:
        # Without the error's text, which may quote what it choked on, and that may be a secret.
        what = f"{self._endpoint.path} failed: unexpected {type(error).__name__}"
        log.error("%s, a bug\n%s", what, "".join(traceback.format_tb(error.__traceback__)))
        return web.Response(status=500, text=f"{what}; the operator's log says where")


async def _body_of(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await request.read()
    except TimeoutError as error:
        late = f"the body was not complete within {TIMEOUT_SECONDS} s"
        raise web.HTTPRequestTimeout(text=late) from error
