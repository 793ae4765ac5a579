"""The floor: nothing but the writes, from objects given in advance. No watch, no cache, no queue.

`python -m bench.peers.bare --kubeconfig FILE --writes FILE`, where each line of the latter is one
set: method, path and body for each child, and last those for its status.
"""

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import aiohttp
import msgspec
import uvloop

from bench.peers.access import access

AT_A_TIME = 16
MANAGER = "?fieldManager=bare"
HEADERS = {"Content-Type": "application/json"}

Write = tuple[str, str, msgspec.Raw]


async def write_all(kubeconfig: Path, sets: Iterable[list[Write]]) -> None:
    server, tls = access(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=tls, limit=AT_A_TIME)
    left = iter(sets)
    async with (
        aiohttp.ClientSession(server, connector=connector, headers=HEADERS) as session,
        asyncio.TaskGroup() as workers,
    ):
        for _ in range(AT_A_TIME):
            workers.create_task(work(session, left))
    # It stays until it is told to end, so that what it used can be read.
    await asyncio.Event().wait()


async def work(session: aiohttp.ClientSession, left: Iterator[list[Write]]) -> None:
    for *children, status in left:
        await asyncio.gather(*(send(session, child) for child in children))
        await send(session, status)


async def send(session: aiohttp.ClientSession, write: Write) -> None:
    method, path, body = write
    async with session.request(method, path + MANAGER, data=bytes(body)) as answer:
        text = await answer.read()
        if answer.status not in (200, 201):
            raise RuntimeError(f"{path} was answered with {answer.status}: {text[:300]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--writes", type=Path, required=True)
    options = parser.parse_args()
    one_set = msgspec.json.Decoder(list[Write])
    sets = [one_set.decode(line) for line in options.writes.read_bytes().splitlines()]
    uvloop.run(write_all(options.kubeconfig, sets))


if __name__ == "__main__":
    main()
