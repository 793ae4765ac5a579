"""Whether the definition of a kind may be used, and what has to be done with it first.

Rule: a CustomResourceDefinition that is not ours is never overwritten without being told to, ours
is never replaced by an older one, and a version in which objects are stored is never dropped.
"""

import enum
import re
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
WRITTEN_BY = "quiver.dev/version"
"""The version of Quiver that wrote a definition."""


@dataclass(frozen=True, slots=True)
class On:
    """The kind is there: the controller runs."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Off:
    """The controller must not run, until somebody decides."""

    why: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The controller runs as soon as the kind is there."""

    why: str


Standing = On | Off | Waiting


class Act(enum.Enum):
    CREATE = "create"
    CHANGE = "change"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    standing: Standing
    """How the controller stands, once the act is done."""


def judge(
    found: Object | None, ours: Object, *, controller: str, install: bool, take_over: bool
) -> Verdict:
    """What becomes of the definition on the server, and of the controller that needs it."""
    name = f"CustomResourceDefinition {ours['metadata']['name']}"
    if found is None:
        return _missing(name, ours, controller, install=install)
    if found["metadata"].get("deletionTimestamp"):
        return _leave(Waiting(f"{name} is being deleted: the controller {controller} waits"))
    if found["spec"] == ours["spec"]:
        return _same(found, ours, may_write=take_over or (install and _is_ours(found)))
    if not _is_ours(found) and not take_over:
        return _leave(Off(_somebody_elses(name, found, ours, controller)))
    if _is_newer(found, ours):
        return _kept(name, found, ours, f"was written by Quiver {_writer(found)}, which is newer")
    if dropped := _stored(found) - _versions(ours):
        return _leave(Off(_would_drop(name, sorted(dropped), controller)))
    if not install and not take_over:
        return _kept(name, found, ours, "differs from this Quiver's, which may not change it")
    return Verdict(Act.CHANGE, On())


def changed(found: Object, ours: Object) -> Object:
    """Ours in the place of what was found; what others noted in its metadata stays."""
    metadata = dict(found["metadata"])
    for notes in ("labels", "annotations"):
        metadata[notes] = {**(metadata.get(notes) or {}), **ours["metadata"].get(notes, {})}
    metadata.pop("managedFields", None)
    return {**ours, "metadata": metadata}


def _leave(standing: Standing) -> Verdict:
    return Verdict(Act.NOTHING, standing)


def _missing(name: str, ours: Object, controller: str, *, install: bool) -> Verdict:
    if install:
        return Verdict(Act.CREATE, On())
    command = f"quiver crds {ours['metadata']['name']} | kubectl apply --server-side -f -"
    return _leave(
        Waiting(
            f"{name} is missing and Quiver is told not to install it: "
            f"the controller {controller} waits for it; install it with `{command}`"
        )
    )


def _same(found: Object, ours: Object, *, may_write: bool) -> Verdict:
    """Nothing differs but, perhaps, the marks of who wrote it: they are kept up to date."""
    marked = _is_ours(found) and _writer(found) == _writer(ours)
    mark = may_write and not marked and not _is_newer(found, ours)
    return Verdict(Act.CHANGE if mark else Act.NOTHING, On())


def _kept(name: str, found: Object, ours: Object, why: str) -> Verdict:
    needed = ours["spec"]["versions"][0]["name"]
    if needed not in _versions(found, served=True):
        return _leave(Off(f"{name} {why}, and it does not serve {needed}, which is needed"))
    return _leave(On(f"{name} {why}: it is used as it is"))


def _somebody_elses(name: str, found: Object, ours: Object, controller: str) -> str:
    managers = sorted({entry["manager"] for entry in found["metadata"].get("managedFields", [])
                       if "subresource" not in entry})  # fmt: skip
    return (
        f"{name} was installed by somebody else (field managers: {', '.join(managers) or 'none'}): "
        f"it is left alone and the controller {controller} stays off; run with "
        f"--take-over-crds={ours['metadata']['name']} to replace it with Quiver's"
    )


def _would_drop(name: str, versions: list[str], controller: str) -> str:
    stored = ", ".join(versions)
    return (
        f"{name} has objects stored as {stored}, which this Quiver does not know: it is left alone "
        f"and the controller {controller} stays off; store them in a version that both have, "
        f"remove {stored} from status.storedVersions, and start again"
    )


def _is_ours(found: Object) -> bool:
    return bool((found["metadata"].get("labels") or {}).get(MANAGED_BY) == "quiver")


def _writer(definition: Object) -> str:
    return str((definition["metadata"].get("annotations") or {}).get(WRITTEN_BY, ""))


def _is_newer(found: Object, ours: Object) -> bool:
    return _release(_writer(found)) > _release(_writer(ours))


def _stored(found: Object) -> set[str]:
    return set((found.get("status") or {}).get("storedVersions") or [])


def _versions(definition: Object, *, served: bool = False) -> set[str]:
    return {
        entry["name"]
        for entry in definition["spec"]["versions"]
        if entry.get("served") or not served
    }


def _release(version: str) -> tuple[tuple[int, ...], bool]:
    """Numbers in their order; what follows them (`.dev1`, `-rc.2`) comes before the release."""
    match = re.match(r"v?(\d+(?:\.\d+)*)(.*)", version)
    if match is None:
        return (), False
    return tuple(int(number) for number in match[1].split(".")), not match[2]
