"""The reference page of a kind, from the same schema that the API server checks."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from quiver.engine.crd.declare import Definition, Resource, definition_of
from quiver.engine.crd.schema import (
    INT_OR_STRING,
    LIST_KEYS,
    PRESERVE,
    VALIDATIONS,
    Schema,
    schema_of,
)

_COLUMNS = ("Field", "Type", "Default", "Description", "Constraints")
_HEADER_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_BOUNDS = (
    ("minLength", "length ≥ {}"),
    ("maxLength", "length ≤ {}"),
    ("minItems", "entries ≥ {}"),
    ("maxItems", "entries ≤ {}"),
    ("minProperties", "entries ≥ {}"),
    ("maxProperties", "entries ≤ {}"),
    ("multipleOf", "a multiple of {}"),
    ("pattern", "matches `{}`"),
)


class _Row(NamedTuple):
    path: str
    schema: Schema
    required: bool


def reference_markdown(cls: type[Resource]) -> str:
    definition = definition_of(cls)
    schema = schema_of(cls)
    parts = [f"## {definition.kind}", schema.get("description", ""), _names(definition)]
    parts += [f"- Rule: {sentence}" for sentence in _rules(schema)]
    for name, part in schema["properties"].items():
        if name not in _HEADER_FIELDS:
            parts += [f"### {name}", _table(_Row(name, part, name in schema.get("required", [])))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _names(definition: Definition) -> str:
    versions = ", ".join(f"`{definition.group}/{version.name}`" for version in definition.versions)
    short = ", ".join(f"`{name}`" for name in definition.short_names)
    known_as = f" (short: {short})" if short else ""
    return f"{versions}, {definition.scope.lower()}, `kubectl get {definition.plural}`{known_as}."


def _table(root: _Row) -> str:
    lines = [_line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
    lines += [_line(_cells(row)) for row in _rows(root)]
    return "\n".join(lines)


def _rows(row: _Row) -> Iterator[_Row]:
    yield row
    path, schema = row.path, row.schema
    while below := schema.get("items") or schema.get("additionalProperties"):
        path += "[]" if "items" in schema else "[*]"
        schema = below
    required = schema.get("required", [])
    for name, part in schema.get("properties", {}).items():
        yield from _rows(_Row(f"{path}.{name}", part, name in required))


def _cells(row: _Row) -> list[str]:
    schema = row.schema
    return [
        f"`{row.path}`",
        _type(schema),
        f"`{json.dumps(schema['default'], ensure_ascii=False)}`" if "default" in schema else "",
        schema.get("description", ""),
        "; ".join((["required"] if row.required else []) + _constraints(schema)),
    ]


def _type(schema: Schema) -> str:
    """A type with a title, such as Quantity, is known by it, and so is what it looks like."""
    if "title" in schema:
        return str(schema["title"])
    if schema.get(INT_OR_STRING):
        return "integer or string"
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map of {_type(schema['additionalProperties'])}"
    if schema.get(PRESERVE):
        return "free-form object" if "type" in schema else "anything"
    formats = {"byte": "base64", "date-time": "time", "date": "date"}
    return formats.get(schema.get("format", "")) or str(schema["type"])


def _constraints(schema: Schema) -> list[str]:
    if "title" in schema:
        return _rules(schema)
    said = [words.format(schema[key]) for key, words in _BOUNDS if key in schema]
    if "enum" in schema:
        said.append("one of " + ", ".join(f"`{value}`" for value in schema["enum"]))
    said += _range(schema)
    if LIST_KEYS in schema:
        said.append("unique by " + ", ".join(f"`{key}`" for key in schema[LIST_KEYS]))
    if entry := schema.get("items") or schema.get("additionalProperties"):
        said += [f"each: {words}" for words in _constraints(entry)]
    return said + _rules(schema)


def _range(schema: Schema) -> list[str]:
    said = []
    for bound, exclusive, signs in (
        ("minimum", "exclusiveMinimum", ("≥", ">")),
        ("maximum", "exclusiveMaximum", ("≤", "<")),
    ):
        if bound in schema:
            said.append(f"{signs[bool(schema.get(exclusive))]} {schema[bound]}")
    return said


def _rules(schema: Schema) -> list[str]:
    """Rules in their own words, or in CEL where they have none; not what a field says itself."""
    said = dict.fromkeys(map(_words, schema.get(VALIDATIONS, [])))
    for part in schema.get("properties", {}).values():
        for rule in part.get(VALIDATIONS, []):
            said.pop(_words(rule), None)
    return list(said)


def _words(rule: dict[str, Any]) -> str:
    return rule.get("message") or f"`{rule['rule']}`"


def _line(cells: tuple[str, ...] | list[str]) -> str:
    written = (cell.replace("|", "\\|").replace("\n\n", "<br>") for cell in cells)
    return f"| {' | '.join(written)} |"
