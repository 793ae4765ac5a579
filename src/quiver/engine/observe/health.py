"""A small HTTP server for probes and Prometheus: /healthz, /livez, /readyz and /metrics.

    live, ready = Checks("healthz"), Checks("readyz")
    ready.add("caches", lambda: None if synced() else "the cache of pods is not filled yet")
    async with serving(":8081", health_routes(live, ready) + metrics_routes(metrics.render)):
        ...

As in Kubernetes' own components, `?verbose` lists all checks, `?exclude=NAME` leaves one out, and
`/readyz/NAME` asks for one. The answer is 200, or 500 and what is wrong. It is for the pod's own
network: it asks nobody who they are, so checks say nothing secret.
"""

import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web

from quiver.engine.observe.checks import Check, Checks, Report
from quiver.engine.observe.instruments import CONTENT_TYPE

__all__ = ["Address", "Check", "Checks", "Report", "health_routes", "metrics_routes", "serving"]

_LAST_ANSWERS = 1.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Address(NamedTuple):
    """Where to listen; an empty host is every address of the machine, of IPv4 and IPv6."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """`:8081`, `127.0.0.1:8081`, `[::1]:8081` or `localhost:8081`."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"{text!r} is no address to listen at: write HOST:PORT or :PORT")
        if ":" in host and not (host[0] == "[" and host[-1] == "]"):
            raise ValueError(f"{text!r} is no address to listen at: write IPv6 as [HOST]:PORT")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@asynccontextmanager
async def serving(bind: str, routes: list[web.RouteDef]) -> AsyncIterator[Address]:
    """Serve until the end of the block. Port 0 takes a free one; the address says which."""
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LAST_ANSWERS)
    await runner.setup()
    try:
        listening = listen(Address.parse(bind))
        await web.SockSite(runner, listening).start()
        yield Address(*listening.getsockname()[:2])
    finally:
        await runner.cleanup()


def health_routes(live: Checks, ready: Checks) -> list[web.RouteDef]:
    paths = {"/healthz": live, "/livez": live, "/readyz": ready}
    return [
        route
        for path, checks in paths.items()
        for route in (
            web.get(path, _all_of(checks)),
            web.get(f"{path}/", _all_of(checks)),
            web.get(f"{path}/{{name}}", _one_of(checks)),
        )
    ]


def metrics_routes(render: Callable[[], bytes]) -> list[web.RouteDef]:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=render(), headers={"Content-Type": CONTENT_TYPE})

    return [web.get("/metrics", metrics)]


def listen(address: Address) -> socket.socket:
    """One socket; where the machine has both, it answers to IPv4 and IPv6."""
    host, port = address
    if not host and socket.has_dualstack_ipv6():
        family = socket.AF_INET6
        return socket.create_server(("", port), family=family, dualstack_ipv6=True, backlog=64)
    family = socket.AF_INET6 if _is_ipv6(host) else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=64)


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def _all_of(checks: Checks) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        report = checks.report(exclude=request.query.getall("exclude", []))
        if report.healthy and "verbose" not in request.query:
            return _text(200, "ok")
        return _text(200 if report.healthy else 500, report.text)

    return handler


def _one_of(checks: Checks) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in checks:
            return _text(404, f"there is no check {name}\n")
        wrong = checks.one(name)
        return _text(500, f"internal server error: {wrong}\n") if wrong else _text(200, "ok")

    return handler


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers={"X-Content-Type-Options": "nosniff"})
