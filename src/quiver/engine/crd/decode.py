"""Objects from the API server, as their types. Fields that a type does not have are skipped."""

import re
from functools import cache
from typing import TypeVar

import msgspec

from quiver.engine.crd.declare import Resource
from quiver.engine.crd.errors import CannotDecode
from quiver.engine.crd.metadata import ObjectMeta

R = TypeVar("R", bound=Resource)

_COMPLAINT = re.compile(r"(?P<what>.*?) - at `(?:key` in `)?\$(?P<path>.*)`", re.DOTALL)


class _Named(msgspec.Struct):
    metadata: ObjectMeta


def decode(cls: type[R], raw: bytes) -> R:
    try:
        found: R = _decoder(cls).decode(raw)
    except msgspec.ValidationError as error:
        raise CannotDecode(f"{cls.__name__} {_name(raw)}: {_sentence(str(error))}") from error
    except msgspec.DecodeError as error:
        raise CannotDecode(f"{cls.__name__}: not a JSON object: {error}") from error
    return found


@cache
def _decoder(cls: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(cls)


def _name(raw: bytes) -> str:
    try:
        metadata = msgspec.json.decode(raw, type=_Named).metadata
    except msgspec.DecodeError:
        return "without a name"
    return "/".join(part for part in (metadata.namespace, metadata.name) if part)


def _sentence(complaint: str) -> str:
    match = _COMPLAINT.fullmatch(complaint)
    if match is None:
        return complaint
    return f"{match['path'].removeprefix('.')}: {match['what']}"
