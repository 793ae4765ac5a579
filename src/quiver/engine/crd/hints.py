"""Type hints, taken apart: the bare type, its annotations, and whether it may be absent."""

from collections.abc import Iterator
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, NewType, Union, get_args, get_origin

from msgspec import UNSET, Meta, UnsetType

_ABSENT = {NoneType, UnsetType}


class Hint(NamedTuple):
    type: Any
    notes: tuple[Any, ...]
    optional: bool

    def all(self, kind: type) -> Iterator[Any]:
        return (note for note in self.notes if isinstance(note, kind))

    def last(self, kind: type) -> Any:
        return next(reversed([*self.all(kind)]), None)

    def meta(self, name: str) -> Any:
        """What `Meta` says; an outer annotation has the last word."""
        said = [getattr(meta, name) for meta in self.all(Meta)]
        return next((value for value in reversed(said) if value is not None), None)


def read_hint(hint: Any) -> Hint:
    notes: tuple[Any, ...] = ()
    optional = False
    while True:
        if get_origin(hint) is Annotated:
            hint, *added = get_args(hint)
            notes = (*added, *notes)
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif _ABSENT & set(members := union_members(hint)):
            optional = True
            hint = reduce(or_, [member for member in members if member not in _ABSENT])
        else:
            return Hint(hint, notes, optional)


def union_members(hint: Any) -> tuple[Any, ...]:
    """Nothing for what is no union."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else ()


def is_absent(value: object) -> bool:
    return value is None or value is UNSET
