"""Prints the KiB of memory of one standing watch over TLS on uvloop, measured over a hundred.

python connection_cost.py FOLDER    # with server.pem and ca.pem
"""

import asyncio
import gc
import os
import ssl
import sys
from multiprocessing import Process, SimpleQueue
from pathlib import Path

import uvloop
from aiohttp import web

from quiver.kube import Client, KubeConfig

WATCHES = 100


async def _serve(folder: Path, ports: "SimpleQueue[int]") -> None:
    async def hold(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{}}\n')
        await asyncio.sleep(600)
        return response

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    app = web.Application()
    app.router.add_get("/hold", hold)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    ports.put(runner.addresses[0][1])
    await asyncio.sleep(600)


def _serve_forever(folder: Path, ports: "SimpleQueue[int]") -> None:
    asyncio.run(_serve(folder, ports))


def _resident_kib() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") // 1024


async def _measure(config: KubeConfig) -> float:
    async with Client(config) as client:
        held = [client.stream("/hold") for _ in range(WATCHES + 10)]
        for watch in held[:10]:
            await anext(await watch.__aenter__())
        before = _resident_kib()
        for watch in held[10:]:
            await anext(await watch.__aenter__())
        cost = (_resident_kib() - before) / WATCHES
        for watch in held:
            await watch.__aexit__(None, None, None)
        return cost


def main() -> None:
    folder = Path(sys.argv[1])
    ports: SimpleQueue[int] = SimpleQueue()
    server = Process(target=_serve_forever, args=(folder, ports), daemon=True)
    server.start()
    config = KubeConfig(
        server=f"https://127.0.0.1:{ports.get()}", ca=(folder / "ca.pem").read_text()
    )
    print(uvloop.run(_measure(config)))
    server.kill()


if __name__ == "__main__":
    main()
