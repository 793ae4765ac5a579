"""The rule itself: is an apply needed, and why."""

from base64 import b64encode
from typing import Any

from quiver.engine.compare.digest import APPLIED, digest
from quiver.engine.compare.scalars import Node
from quiver.engine.compare.structures import structure_of
from quiver.kube import Object


def reason_to_apply(
    desired: Object, live: Object | None, *, structure: Node | None = None
) -> str | None:
    """Why desired has to be applied, in words; None if the server has it all."""
    if live is None:
        return "it does not exist"
    if _applied(live) != digest(desired):
        return "what is desired is not what was last applied"
    path = difference(desired, live, structure=structure)
    return None if path is None else f"{path} is not as desired"


def difference(desired: Object, live: Object, *, structure: Node | None = None) -> str | None:
    """The path of the first place where live does not contain desired.

    `status` and what only the server sets in `metadata` are not looked at. `structure` is that of
    a custom resource whose schema is known.
    """
    structure = structure or structure_of(desired["apiVersion"], desired["kind"])
    if "stringData" in desired:
        desired = _with_data(desired)
    path = structure.differs(desired, live, False)
    return None if path is None else path.removeprefix(".")


def _applied(live: Object) -> str | None:
    annotations = live["metadata"].get("annotations") or {}
    found: str | None = annotations.get(APPLIED)
    return found


def _with_data(secret: Object) -> Object:
    """A Secret's `stringData` is only ever seen again as `data`."""
    texts, data = secret["stringData"] or {}, secret.get("data") or {}
    if (secret["apiVersion"], secret["kind"]) != ("v1", "Secret"):
        return secret
    if not isinstance(texts, dict) or not isinstance(data, dict):
        return secret
    written = {name: value for name, value in secret.items() if name != "stringData"}
    return written | {"data": data | {key: _encoded(text) for key, text in texts.items()}}


def _encoded(text: Any) -> Any:
    """What is no text is left for the server to refuse."""
    return b64encode((text or "").encode()).decode() if isinstance(text, str | None) else text
