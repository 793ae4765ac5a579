"""Strings, numbers and enumerations, and what `msgspec.Meta` says about them."""

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, NoReturn

from quiver.engine.crd.hints import Hint

Refuse = Callable[[str], NoReturn]

SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
}
_JSON_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
# The API server's patterns are RE2: no looking around, no references back.
_NOT_RE2 = re.compile(r"\(\?(?:[=!>]|<[=!]|P=|\()|\\[1-9]|[*+?}]\+")


def constraints(hint: Hint, schema: dict[str, Any], refuse: Refuse) -> dict[str, Any]:
    smallest, largest = _SIZES.get(schema.get("type", ""), _SIZES["string"])
    said = {
        "title": hint.meta("title"),
        smallest: hint.meta("min_length"),
        largest: hint.meta("max_length"),
        "pattern": _pattern(hint, refuse),
        "multipleOf": hint.meta("multiple_of"),
        "minimum": _either(hint.meta("ge"), hint.meta("gt")),
        "exclusiveMinimum": True if hint.meta("gt") is not None else None,
        "maximum": _either(hint.meta("le"), hint.meta("lt")),
        "exclusiveMaximum": True if hint.meta("lt") is not None else None,
    }
    return {key: value for key, value in said.items() if value is not None}


def enumeration(values: list[Any], refuse: Refuse) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= set(_JSON_NAMES):
        refuse("the values of a Literal or Enum must all be strings, or all be integers")
    return {"type": _JSON_NAMES[kinds.pop()], "enum": values}


def _pattern(hint: Hint, refuse: Refuse) -> str | None:
    pattern: str | None = hint.meta("pattern")
    if pattern and _NOT_RE2.search(pattern):
        refuse(f"the pattern {pattern!r} needs what RE2 lacks; write it plainer, or as a Rule")
    return pattern


def _either(inclusive: Any, exclusive: Any) -> Any:
    return exclusive if inclusive is None else inclusive
