"""What an uninstalled operator would leave behind: resources that nobody looks after any more."""

from collections.abc import Iterable, Sequence
from typing import Any

from quiver.engine.controller import Controller
from quiver.engine.kinds import Kind, kind_of
from quiver.kube import Client, NotFound

SHOWN = 3


async def leftovers(
    client: Client, controllers: Iterable[type[Controller[Any]]], namespaces: Sequence[str] = ()
) -> list[str]:
    """One sentence for each kind of which there are objects, with some of their names."""
    kinds = [kind_of(controller.resource) for controller in controllers]
    names = {kind: await _objects(client, kind, namespaces) for kind in kinds}
    return [_sentence(kind, found) for kind, found in names.items() if found]


async def _objects(client: Client, kind: Kind, namespaces: Sequence[str]) -> list[str]:
    found: list[str] = []
    places: Sequence[str | None] = (kind.namespaced and namespaces) or [None]
    for namespace in places:
        try:
            objects = await client.list(kind.api_version, kind.name, namespace)
        except NotFound:  # Without its definition there is nothing of the kind.
            return []
        found += [_name(it["metadata"]) for it in objects]
    return found


def _name(metadata: dict[str, Any]) -> str:
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _sentence(kind: Kind, names: list[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"there are {len(names)} of {kind}: {shown}{more}"
