"""Who owns which field: moving ownership to where a server-side apply lets go of it.

Apply removes a field that it no longer names only if its own `Apply` entry had it. Fields that
came with a create, or from the manager that ran the object before, belong to other entries and
would stay forever. Moved first, they go when desired drops them.

The list given back is written as a whole, with the version it was read at:

    [{"op": "test", "path": "/metadata/resourceVersion", "value": version},
     {"op": "replace", "path": "/metadata/managedFields", "value": moved}]
"""

from collections.abc import Callable, Collection
from functools import reduce
from typing import TypeAlias

from quiver.kube import Object

Entries: TypeAlias = list[Object]


def as_applied(managed_fields: Entries, manager: str) -> Entries | None:
    """All that a manager created or updated, as if it had applied it; None if there is nothing."""
    return _merged(
        managed_fields,
        manager,
        lambda entry: entry["manager"] == manager and entry["operation"] == "Update",
    )


def moved(managed_fields: Entries, from_managers: Collection[str], to: str) -> Entries | None:
    """All that former managers applied or updated, as if `to` had applied it; None if nothing.

    Name no controllers that go on working on the object: they would lose their fields.
    """
    former = set(from_managers) - {to}
    return _merged(managed_fields, to, lambda entry: entry["manager"] in former)


def _merged(entries: Entries, to: str, gives: Callable[[Object], bool]) -> Entries | None:
    """One `Apply` entry of `to` for all that gives; what others own, and subresources, stays."""
    giving = [entry for entry in entries if not entry.get("subresource") and gives(entry)]
    own = [entry for entry in entries if _is_applied_by(entry, to)]
    # A path means something else in another version of the kind: such entries stay as they are.
    version = (own or giving or [{}])[0].get("apiVersion")
    giving = [entry for entry in giving if entry["apiVersion"] == version]
    if not giving:
        return None
    sources = [*own[:1], *giving]
    rest = [entry for entry in entries if not any(entry is source for source in sources)]
    return [_applied(sources, to), *rest]


def _is_applied_by(entry: Object, manager: str) -> bool:
    return (
        entry["manager"] == manager
        and entry["operation"] == "Apply"
        and not entry.get("subresource")
    )


def _applied(sources: Entries, manager: str) -> Object:
    trees = [entry.get("fieldsV1") or {} for entry in sources]
    times = [entry["time"] for entry in sources if entry.get("time")]
    entry = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": sources[0]["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": reduce(_union, trees),
    }
    return entry | ({"time": max(times)} if times else {})


def _union(one: Object, other: Object) -> Object:
    return one | {name: _union(one.get(name, {}), tree) for name, tree in other.items()}
