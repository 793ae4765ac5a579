"""From types to a structural schema: one walk, from which manifests and documents are made.

| type | schema |
|---|---|
| no default | required |
| `X | None = None` | optional; a null is dropped, except that server-side apply refuses it |
| the same with `Nullable()` | a null is taken by everybody, and stored |
| `int | str` | int-or-string |
| `list`, `tuple[X, ...]` | a list that is replaced as a whole; `ListMap("name")` merges by key |
| `set` | a list without duplicates, merged by value |
| `dict[str, X]` | a map, merged by key; `Atomic()` replaces it as a whole |
| `Any`, `dict[str, Any]`, `Raw` | kept as written, unchecked |

Docstrings of Structs and `Meta(description=…)` become descriptions. The status has no defaults:
the operator alone writes it, and what it leaves out is filled in when it is read.
"""

import re
from enum import Enum
from typing import Any, Literal, NamedTuple, NoReturn, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import FieldInfo

from quiver.engine.crd.declare import Resource, definition_of
from quiver.engine.crd.defaults import default_of
from quiver.engine.crd.errors import CannotDeclare
from quiver.engine.crd.hints import Hint, read_hint, union_members
from quiver.engine.crd.rules import Immutable, Rule, rules_of
from quiver.engine.crd.scalars import SCALARS, constraints, enumeration

Schema = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
VALIDATIONS = "x-kubernetes-validations"

_ORDER = (
    "title", "description", "type", "format", "anyOf", "enum", "nullable", "default", "minimum",
    "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "minItems", "maxItems", "minProperties", "maxProperties", "required", "properties",
    "additionalProperties", "items",
)  # fmt: skip
_FREE: tuple[Any, ...] = (Any, object, Raw)
_LISTS = (list, tuple, set, frozenset)
_HEADER = {
    "apiVersion": {"description": "The group and version of this kind.", "type": "string"},
    "kind": {"description": "The name of this kind.", "type": "string"},
    "metadata": {"type": "object"},
}
_HEADER_FIELDS = frozenset(_HEADER)
_WORDS = re.compile(r"\s*\n\s*")


class ListMap:
    """On a list of Structs: entries are told apart by these fields (as Python names them)."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys


class Atomic:
    """On a map or a Struct: whoever applies it owns all of it."""


class Nullable:
    """On an optional field: for manifests that are known to write a null."""


class Place(NamedTuple):
    """Where the walk is."""

    path: str
    within: tuple[type[Struct], ...] = ()
    writes_defaults: bool = True
    knows_old_values: bool = True

    def below(self, step: str) -> "Place":
        return self._replace(path=self.path + step)

    def refuse(self, sentence: str) -> NoReturn:
        raise CannotDeclare(self.path, sentence)


def schema_of(cls: type[Resource]) -> Schema:
    """The whole `openAPIV3Schema` of a kind."""
    definition = definition_of(cls)
    place = Place(definition.kind)
    schema = _struct(cls, place)
    schema["properties"] = _HEADER | schema["properties"]
    schema["required"] = [name for name in schema["required"] if name not in _HEADER_FIELDS]
    _add_rules(schema, list(definition.rules), place)
    return _tidy(schema)


def _schema(hint: Hint, place: Place) -> Schema:
    schema = _bare(hint, place)
    schema |= constraints(hint, schema, place.refuse)
    if hint.last(Atomic):
        schema |= _atomic(schema, place)
    if description := _description(hint) or schema.get("description"):
        schema["description"] = description
    _add_rules(schema, _field_rules(hint), place)
    for meta in hint.all(Meta):
        schema |= meta.extra_json_schema or {}
    return _tidy(schema)


def _bare(hint: Hint, place: Place) -> Schema:
    origin = get_origin(hint.type) or hint.type
    if hint.type in SCALARS:
        return dict(SCALARS[hint.type])
    if hint.type in _FREE:
        return {PRESERVE: True}
    if origin is Literal:
        return enumeration(list(get_args(hint.type)), place.refuse)
    if origin in _LISTS:
        return _list(origin, hint, place)
    if origin is dict:
        return _map(get_args(hint.type), place)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return enumeration([entry.value for entry in origin], place.refuse)
    if isinstance(origin, type) and issubclass(origin, Struct):
        return _struct(hint.type, place)
    if union_members(hint.type):
        return _union(hint, place)
    return place.refuse(
        f"{_name(hint.type)} is not supported; use a msgspec Struct, a scalar, list, set, dict or"
        " Literal, Quantity or Duration, or `dict[str, Any]` for what is not to be checked"
    )


def _inner(hint: Any, place: Place) -> Schema:
    """An entry of a list or a map."""
    inner = read_hint(hint)
    if inner.optional:
        place.refuse("an entry cannot be null; leave out `| None`")
    return _schema(inner, place)


def _list(origin: type, hint: Hint, place: Place) -> Schema:
    item, sizes = _item(origin, get_args(hint.type), place)
    keyed = hint.last(ListMap)
    inside = place.below("[]")
    if keyed is None:
        inside = inside._replace(knows_old_values=False)
    schema: Schema = {"type": "array", "items": _inner(item, inside), **sizes}
    if keyed:
        return schema | _keyed(keyed, item, place)
    if origin in (set, frozenset):
        if schema["items"].get("type", "object") in ("object", "array"):
            place.refuse("a set holds only strings, numbers or booleans; use a list")
        return schema | {LIST_TYPE: "set"}
    return schema | {LIST_TYPE: "atomic"}


def _item(origin: type, args: tuple[Any, ...], place: Place) -> tuple[Any, Schema]:
    if not args:
        return Any, {}
    if origin is not tuple or args[1:] == (...,):
        return args[0], {}
    if len(set(args)) > 1:
        place.refuse("a tuple of different types has no structural schema; use a Struct")
    return args[0], {"minItems": len(args), "maxItems": len(args)}


def _keyed(keyed: ListMap, item: Any, place: Place) -> Schema:
    cls = read_hint(item).type
    if not isinstance(get_origin(cls) or cls, type(Struct)):
        place.refuse("ListMap needs a list of Structs")
    fields = {field.name: field for field in msgspec.structs.fields(cls)}
    for key in keyed.keys:
        if key not in fields:
            place.refuse(f"ListMap names the field {key!r}, which is not there")
        if not fields[key].required and default_of(fields[key], place.path) is None:
            place.refuse(f"the key {key!r} of a ListMap must be required or have a default")
    keys = [fields[key].encode_name for key in keyed.keys]
    return {LIST_TYPE: "map", LIST_KEYS: keys}


def _map(args: tuple[Any, ...], place: Place) -> Schema:
    key, value = args or (str, Any)
    if key is not str:
        place.refuse("the keys of a map are plain `str`; check them with a Rule")
    if value in _FREE:
        return {"type": "object", PRESERVE: True}
    return {"type": "object", "additionalProperties": _inner(value, place.below("[*]"))}


def _atomic(schema: Schema, place: Place) -> Schema:
    if schema.get("type") != "object":
        place.refuse("Atomic is for maps and Structs; lists are atomic unless they are a ListMap")
    return {MAP_TYPE: "atomic"}


def _union(hint: Hint, place: Place) -> Schema:
    members = [read_hint(member) for member in union_members(hint.type)]
    kinds = {member.type for member in members}
    if kinds == {int, float}:
        return dict(SCALARS[float])
    if kinds == {int, str}:
        schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], INT_OR_STRING: True}
        for member in members:
            schema |= constraints(member, SCALARS[member.type], place.refuse)
        return schema
    return place.refuse(
        f"{hint.type} has no structural schema; give each alternative an optional field and put"
        " `@rules(ExactlyOne(…))` on the Struct"
    )


def _struct(hint: Any, place: Place) -> Schema:
    cls: type[Struct] = get_origin(hint) or hint
    _refuse_unusual(cls, place)
    inside = place._replace(within=(*place.within, cls))
    properties, required, rules = {}, [], []
    fields = msgspec.structs.fields(hint)
    for field in fields:
        if not place.within and field.encode_name in _HEADER_FIELDS:
            continue
        schema = properties[field.encode_name] = _property(field, inside)
        if field.required:
            required.append(field.encode_name)
        elif "default" not in schema:
            rules += [
                immutable.on_owner(field.encode_name)
                for immutable in read_hint(field.type).all(Immutable)
            ]
    schema = {"type": "object", "required": required, "properties": properties}
    if cls.__doc__:
        schema["description"] = _flowing(cls.__doc__)
    _add_rules(schema, [*rules_of(cls, fields, place.path), *rules], place)
    return schema


def _refuse_unusual(cls: type[Struct], place: Place) -> None:
    if cls in place.within:
        circle = [*place.within[place.within.index(cls) :], cls]
        names = " → ".join(entry.__name__ for entry in circle)
        place.refuse(
            f"{names} is recursive, and a structural schema ends somewhere; use"
            " `dict[str, Any]` at this field"
        )
    config = cls.__struct_config__
    if config.array_like or config.tag is not None:
        place.refuse(f"{cls.__name__} is array_like or tagged, which has no structural schema")
    if config.forbid_unknown_fields:
        place.refuse(
            f"{cls.__name__} forbids unknown fields, and could not read what a newer version"
            " wrote; the API server drops them already"
        )


def _property(field: FieldInfo, place: Place) -> Schema:
    within = place.below(f".{field.encode_name}")
    if len(place.within) == 1 and field.encode_name == "status":
        within = within._replace(writes_defaults=False)
    hint = read_hint(field.type)
    if hint.optional and field.required:
        within.refuse("it may be null, so it may be absent: write `… | None = None`")
    schema = _schema(hint, within)
    _refuse_unreadable(field, within)
    if hint.last(Nullable):
        if not hint.optional:
            within.refuse("a Nullable field is read as None: write `… | None`")
        schema = _tidy(schema | {"nullable": True})
    default = default_of(field, within.path) if within.writes_defaults else None
    return schema if default is None else _tidy(schema | {"default": default})


def _refuse_unreadable(field: FieldInfo, place: Place) -> None:
    """What msgspec would only say when the first object is read."""
    try:
        msgspec.json.Decoder(field.type)
    except TypeError as error:
        place.refuse(f"{error}; constraints go inside: `Annotated[X, Meta(…)] | None`")


def _field_rules(hint: Hint) -> list[Rule]:
    immutable = [note.on_value() for note in hint.all(Immutable)]
    return [*hint.all(Rule), *immutable]


def _add_rules(schema: Schema, rules: list[Rule], place: Place) -> None:
    for rule in rules:
        if rule.is_transition() and not place.knows_old_values:
            place.refuse(
                f"the rule {rule.rule!r} asks for the old value, but entries of this list have no"
                " identity; make it a ListMap"
            )
    if rules:
        schema[VALIDATIONS] = schema.get(VALIDATIONS, []) + [rule.manifest() for rule in rules]


def _description(hint: Hint) -> str:
    text = _flowing(hint.meta("description") or "")
    if examples := hint.meta("examples"):
        shown = ", ".join(msgspec.json.encode(example).decode() for example in examples)
        text = f"{text} For example {shown}.".strip()
    return text


def _flowing(text: str) -> str:
    """Paragraphs without the line breaks that a docstring's width needs."""
    return "\n\n".join(_WORDS.sub(" ", part.strip()) for part in re.split(r"\n\s*\n", text.strip()))


def _tidy(schema: Schema) -> Schema:
    """Keys in one order, and nothing that says nothing."""
    places = {key: place for place, key in enumerate(_ORDER)}
    keys = sorted(schema, key=lambda key: (places.get(key, len(places)), key))
    return {key: schema[key] for key in keys if schema[key] != [] or key == "default"}


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
