"""Whether contenders made the same children: a comparison of what they left on the server."""

from contextlib import aclosing
from typing import Any

import msgspec

from bench.benchmark import BenchError
from bench.engine.sets import NAMESPACE
from bench.peers.children import CHILDREN
from quiver.kube import Client

KINDS = (("apps/v1", "Deployment"), ("v1", "Service"), ("networking.k8s.io/v1", "Ingress"))
LOOKED_AT = 21

Likeness = dict[str, Any]

# What the server chose itself, and differs from server to server.
_SERVERS_CHOICE = frozenset({"clusterIP", "clusterIPs"})


async def likeness(client: Client, sets: int) -> Likeness:
    """The contents of the first children of each kind, by kind and name; all must be there."""
    found: Likeness = {}
    total = 0
    for api_version, kind in KINDS:
        async with aclosing(
            client.pages(api_version, kind, NAMESPACE, page_size=LOOKED_AT)
        ) as pages:
            page = await anext(pages)
        listed = [msgspec.json.decode(item) for item in page.items]
        total += len(listed) + (page.metadata.remaining_item_count or 0)
        found |= {f"{kind} {obj['metadata']['name']}": contents(obj) for obj in listed}
    if total != sets * CHILDREN:
        raise BenchError(f"{sets} sets have {total} children and should have {sets * CHILDREN}")
    return found


def contents(obj: dict[str, Any]) -> dict[str, Any]:
    owners = [(it["kind"], it["name"]) for it in obj["metadata"].get("ownerReferences", [])]
    spec = {key: value for key, value in obj["spec"].items() if key not in _SERVERS_CHOICE}
    return {"labels": obj["metadata"].get("labels"), "owners": owners, "spec": spec}


def refuse_unlike(mine: str, first: Likeness, yours: str, second: Likeness) -> None:
    """Numbers of programs that do not do the same work say nothing."""
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            raise BenchError(
                f"{mine} and {yours} do not make the same {name}: bring the peers in"
                f" bench/peers in line with Quiver.\n{mine}: {first.get(name)}\n"
                f"{yours}: {second.get(name)}"
            )
