"""Structs that keep their secrets out of logs, tracebacks and test reports."""

from typing import ClassVar

import msgspec


class Secretive(msgspec.Struct, frozen=True, kw_only=True):
    """The fields named in `hidden` appear in no repr, only whether they are set."""

    hidden: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self._shown(name)}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({shown})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return "<hidden>" if value and name in self.hidden else repr(value)
