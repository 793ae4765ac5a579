"""The base of all types that users write as YAML."""

from typing import Any, dataclass_transform

import msgspec
from msgspec import Struct, StructMeta


class _FieldsMeta(StructMeta):
    """msgspec inherits most settings, but not `kw_only`, and mypy inherits none."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **settings: Any
    ) -> Any:
        ours: dict[str, Any] = {
            "frozen": True,
            "kw_only": True,
            "omit_defaults": True,
            "rename": "camel",
        }
        return super().__new__(mcls, name, bases, namespace, **(ours | settings))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Fields(Struct, frozen=True, metaclass=_FieldsMeta):
    """Frozen, keyword-only, camelCase in JSON, and what has its default is not written."""
