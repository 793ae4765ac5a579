"""A field's default, as the JSON that the API server writes into objects.

The server checks a default as it stands, before it fills in the defaults inside it. So a nested
Struct's default is written out in full. Empty lists, maps and bytes are left out: in Kubernetes
absent and empty are the same, and every stored object would carry them.
"""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from quiver.engine.crd.errors import CannotDeclare
from quiver.engine.crd.hints import is_absent

_EMPTY: tuple[Any, ...] = ([], {})


def default_of(field: FieldInfo, place: str) -> Any:
    """None where the field has no default, or one that is not worth writing down."""
    if field.required:
        return None
    value = _default(field)
    if is_absent(value) or value == b"":
        return None
    written = _as_json(value, place)
    _refuse_invalid(written, field, place)
    return None if written in _EMPTY else written


def _default(field: FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default


def _as_json(value: Any, place: str) -> Any:
    if isinstance(value, Struct):
        return _struct_as_json(value, place)
    if isinstance(value, dict):
        return {key: _as_json(entry, place) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_as_json(entry, place) for entry in value)
    if isinstance(value, list | tuple):
        return [_as_json(entry, place) for entry in value]
    if value == b"":
        raise CannotDeclare(place, "its default has empty bytes, which the API server refuses")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise CannotDeclare(place, "its default has no time zone; add tzinfo=UTC")
    return msgspec.to_builtins(value)


def _struct_as_json(value: Struct, place: str) -> dict[str, Any]:
    written = {}
    for field in msgspec.structs.fields(value):
        part, usual = getattr(value, field.name), _default(field)
        inside = f"{place}.{field.encode_name}"
        if part == b"" == usual:
            continue
        if is_absent(part):
            _refuse_unless_absent(usual, inside)
            continue
        entry = _as_json(part, inside)
        if entry not in _EMPTY or part != usual:
            written[field.encode_name] = entry
    return written


def _refuse_unless_absent(usual: Any, place: str) -> None:
    if not is_absent(usual) and usual is not NODEFAULT:
        raise CannotDeclare(
            place, f"a default around it has none, but the server would fill in {usual!r}"
        )


def _refuse_invalid(written: Any, field: FieldInfo, place: str) -> None:
    encoded = msgspec.json.encode(written)
    try:
        msgspec.json.decode(encoded, type=field.type)
    except msgspec.ValidationError as error:
        raise CannotDeclare(place, f"its default {encoded.decode()} is invalid: {error}") from error
