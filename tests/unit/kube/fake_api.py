"""A server in this process that answers as a test says, in order, and remembers what was asked."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

CORE = {
    "resources": [
        {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["get", "list"]},
        {"name": "pods", "kind": "Pod", "namespaced": True, "shortNames": ["po"]},
        {"name": "pods/log", "kind": "Pod", "namespaced": True},
        {"name": "nodes", "kind": "Node", "namespaced": False},
    ]
}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "mine"}}
MAP_PATH = "/api/v1/namespaces/mine/configmaps/a"
MAPS_PATH = "/api/v1/namespaces/mine/configmaps"


class FakeApi:
    """The last answer of a path is given again and again."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []
        self._answers: dict[str, list[Handler]] = {}
        self.on("GET /api/v1", says(CORE))

    def on(self, line: str, *answers: Handler) -> None:
        self._answers[line] = list(answers)

    def asked(self, line: str) -> int:
        return sum(f"{request.method} {request.path}" == line for request in self.requests)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        answers = self._answers.get(f"{request.method} {request.path}", [refuses(404, "NotFound")])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return await answer(request)


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeApi]:
    api = FakeApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    scheme = "https" if tls else "http"
    api.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    yield api
    await runner.cleanup()


def says(body: Any, status: int = 200, **headers: str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return answer


def refuses(code: int, reason: str, message: str = "no", **headers: str) -> Handler:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return says(status, code, **headers)


def streams(*chunks: bytes) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        return response

    return answer


async def hangs_up(request: web.Request) -> web.StreamResponse:
    """The server has read the request, and the connection ends without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
