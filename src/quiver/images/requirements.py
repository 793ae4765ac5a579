"""Requirements (PEP 508): which package is needed, with which extras, and whether here at all."""

import re
from collections.abc import Mapping

import msgspec

from quiver.images.errors import CannotCollect
from quiver.images.markers import holds

_HEAD = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")


class Requirement(msgspec.Struct, frozen=True):
    name: str
    extras: tuple[str, ...]
    marker: str

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        head = _HEAD.match(text)
        if head is None:
            raise CannotCollect(f"{text!r} is not a requirement a package can have.")
        extras = tuple(extra.strip() for extra in (head[2] or "").split(",") if extra.strip())
        # A URL may hold a semicolon; there the marker starts after a space.
        separator = " ;" if "@" in text.partition(";")[0] else ";"
        return cls(canonical(head[1]), extras, text.partition(separator)[2].strip())

    def wanted(self, extras: frozenset[str], environment: Mapping[str, str]) -> bool:
        """Whether it is needed here by a distribution installed with these extras."""
        if not self.marker:
            return True
        choices = extras or {""}
        return any(holds(self.marker, {**environment, "extra": extra}) for extra in choices)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
