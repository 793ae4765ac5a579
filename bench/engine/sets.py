"""The sets that everybody gets, and the writes that they amount to."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.peers.children import GROUP_VERSION, Object, children, set_path, status
from quiver.devcluster.waiting import until
from quiver.engine.installing.definitions import definition, until_established
from quiver.kube import Client
from quiver.vecodex.api import VecodexSet

NAMESPACE = "bench"
KIND = "VecodexSet"
AT_A_TIME = 16
SERVED_WITHIN = 30.0

_RESOURCES = {
    "requests": {"cpu": "125m", "memory": "128Mi"},
    "limits": {"cpu": "125m", "memory": "128Mi"},
}
_REPLICAS = {"coordinator": 1, "writer": 1, "searcher": 3}


def name_of(number: int) -> str:
    return f"set-{number:05}"


def vecodex_set(number: int) -> Object:
    roles = {
        role: {"image": f"example.com/{role}:1.0", "replicas": replicas, "resources": _RESOURCES}
        for role, replicas in _REPLICAS.items()
    }
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {"name": name_of(number), "namespace": NAMESPACE},
        "spec": roles | {"ingress": {"host": f"{name_of(number)}.example.com"}},
    }


async def prepare(client: Client) -> None:
    """What must be there before the first set: the CRD as Quiver makes it, and a namespace."""
    await client.apply(definition(VecodexSet))
    await until_established(client, VecodexSet.definition.name)
    await until(lambda: missing(client), within=SERVED_WITHIN)
    await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


async def missing(client: Client) -> str | None:
    """An established kind is not found by discovery for a moment; `until` asks again."""
    await client.list(GROUP_VERSION, KIND)
    return None


async def create_sets(client: Client, count: int) -> list[Object]:
    turn = asyncio.Semaphore(AT_A_TIME)

    async def create(number: int) -> Object:
        async with turn:
            return await client.create(vecodex_set(number))

    return await asyncio.gather(*map(create, range(count)))


def write_plan(path: Path, made: list[Object]) -> None:
    """All writes of a convergence, for the bare client: one line for each set."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(msgspec.json.encode(list(writes_of(it, now))) for it in made))


def writes_of(made: Object, now: str) -> Iterator[tuple[str, str, Object]]:
    """As Quiver writes them: new children are created, the status is replaced."""
    for path, child in children(made):
        collection, _, _ = path.rpartition("/")
        yield "POST", collection, child
    metadata = made["metadata"]
    path = set_path(metadata["namespace"], metadata["name"])
    yield "PUT", f"{path}/status", made | {"status": status(made, now)}
