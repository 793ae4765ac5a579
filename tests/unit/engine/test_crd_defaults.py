"""Whatever the types: the schema's defaults are valid, and the same as the type's own."""

import copy
import re
from datetime import UTC, datetime
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct

from quiver.engine.crd import ListMap, Resource, crd_manifest, decode, resource, schema_of, to_yaml
from quiver.engine.crd.core import Duration, Quantity, ResourceRequirements, Toleration

Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type, and its values."""

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

words = st.text(alphabet="abcxyz-", max_size=6)
moments = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1))  # noqa: DTZ001


@st.composite
def integers(draw: st.DrawFn) -> Typed:
    low, high = sorted((draw(st.integers(-1000, 1000)), draw(st.integers(-1000, 1000))))
    step = draw(st.integers(1, 7))
    within = Meta(ge=low - step, le=high + step, multiple_of=step)
    first = -((step - low) // step) * step
    values = st.integers(0, (high + step - first) // step).map(lambda n: first + n * step)
    return Annotated[int, within], values.filter(lambda n: low - step <= n <= high + step)


@st.composite
def numbers(draw: st.DrawFn) -> Typed:
    low = draw(st.floats(-1e6, 1e6))
    high = low + draw(st.floats(1, 1e6))
    values = st.floats(low, high, exclude_min=True, exclude_max=True)
    return Annotated[float, Meta(gt=low, lt=high)], values


@st.composite
def strings(draw: st.DrawFn) -> Typed:
    low = draw(st.integers(0, 3))
    high = low + draw(st.integers(0, 5))
    values = st.text(alphabet="aé𝄞 :#'\n-", min_size=low, max_size=high)
    return Annotated[str, Meta(min_length=low, max_length=high)], values


plain: st.SearchStrategy[Typed] = st.sampled_from(
    [
        (bool, st.booleans()),
        (bytes, st.binary(min_size=1, max_size=5)),
        (datetime, moments),
        (Literal["a", "b"], st.sampled_from(["a", "b"])),
        (Literal[1, 2], st.sampled_from([1, 2])),
        (int | str, st.integers(-5, 5) | words),
        (Quantity, st.sampled_from([0, 3, "500m", "1.5Gi", "1e3"])),
        (Duration, st.sampled_from(["50ms", "2h30m"])),
        (Annotated[str, Meta(pattern="^a+$")], st.integers(1, 5).map(lambda n: "a" * n)),
        (dict[str, Any], st.dictionaries(words, st.integers() | words, max_size=2)),
        (set[str], st.sets(words, max_size=3)),
        (Toleration, st.builds(Toleration, key=words)),
        (
            ResourceRequirements,
            st.builds(ResourceRequirements, limits=st.just({"cpu": "1"}) | st.just({})),
        ),
    ]
)


def containers(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    def listed(typed: Typed) -> Typed:
        hint, values = typed
        return Annotated[GenericAlias(list, (hint,)), Meta(max_length=3)], st.lists(
            values, max_size=3
        )

    def mapped(typed: Typed) -> Typed:
        hint, values = typed
        return GenericAlias(dict, (str, hint)), st.dictionaries(words, values, max_size=3)

    return inner.map(listed) | inner.map(mapped) | structs(inner).map(built)


@st.composite
def structs(draw: st.DrawFn, inner: st.SearchStrategy[Typed]) -> tuple[type[Struct], list[Typed]]:
    """A Struct of one to four fields: required, optional, or with a default of their type."""
    fields: list[Any] = []
    parts = draw(st.lists(inner, min_size=1, max_size=4))
    for number, (hint, values) in enumerate(parts):
        name = f"some_{number}"
        match draw(st.sampled_from(["required", "optional", "default", "default"])):
            case "required":
                fields.append((name, hint))
            case "optional":
                fields.append((name, hint | None, None))
            case "default":
                value = draw(values)
                fields.append((name, hint, fresh(value)))
    made = msgspec.defstruct("Made", fields, rename="camel", kw_only=True, omit_defaults=True)
    return made, parts


def fresh(value: Any) -> Any:
    return msgspec.field(default_factory=lambda: copy.deepcopy(value))


def built(made: tuple[type[Struct], list[Typed]]) -> Typed:
    cls, parts = made
    values = {f"some_{number}": values for number, (_, values) in enumerate(parts)}
    return cls, st.builds(cls, **values)


types = st.recursive(plain | integers() | numbers() | strings(), containers, max_leaves=8)


@st.composite
def kinds(draw: st.DrawFn) -> type[Resource]:
    spec_type: Any = draw(structs(types))[0]

    class Thing(Resource):
        spec: spec_type

    return resource(group="test.quiver.dev", version="v1")(Thing)


@patient
@given(kinds())
def test_every_default_satisfies_its_own_schema(kind: type[Resource]) -> None:
    for path, schema in parts_of(schema_of(kind), "$"):
        if "default" in schema:
            assert complaints(schema, schema["default"], path) == []


@patient
@given(kinds(), st.data())
def test_what_the_type_writes_satisfies_the_schema(
    kind: type[Resource], data: st.DataObject
) -> None:
    schema = schema_of(kind)["properties"]["spec"]
    spec = minimal(schema, data)
    if spec is not None:
        filled(schema, spec)
        assert complaints(schema, spec, "spec") == []


@patient
@given(kinds())
def test_the_server_and_the_type_fill_in_the_same(kind: type[Resource]) -> None:
    schema = schema_of(kind)["properties"]["spec"]
    if schema.get("required"):
        return
    spec: dict[str, Any] = {}
    filled(schema, spec)
    by_server = decode(kind, msgspec.json.encode({"metadata": {}, "spec": spec}))
    by_type = decode(kind, b'{"metadata": {}, "spec": {}}')
    assert by_server == by_type


@patient
@given(kinds())
def test_the_yaml_is_the_manifest_and_always_the_same(kind: type[Resource]) -> None:
    text = to_yaml([kind])
    assert text == to_yaml([kind])
    assert yaml.safe_load(text) == crd_manifest(kind)


def parts_of(schema: dict[str, Any], path: str) -> list[tuple[str, dict[str, Any]]]:
    below = [(f"{path}.{name}", part) for name, part in schema.get("properties", {}).items()]
    below += [
        (f"{path}[]", schema[key]) for key in ("items", "additionalProperties") if key in schema
    ]
    return [(path, schema)] + [found for where, part in below for found in parts_of(part, where)]


def filled(schema: dict[str, Any], value: Any) -> None:
    """Defaulting, as the API server does it."""
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if "default" in part and name not in value:
                value[name] = copy.deepcopy(part["default"])
            if name in value:
                filled(part, value[name])
        for entry in value.values():
            filled(schema.get("additionalProperties", {}), entry)
    if isinstance(value, list):
        for entry in value:
            filled(schema.get("items", {}), entry)


def minimal(schema: dict[str, Any], data: st.DataObject) -> dict[str, Any] | None:
    """An object with nothing but its required fields, if those are easily made up."""
    spec = {}
    for name in schema.get("required", []):
        part = schema["properties"][name]
        if "enum" in part:
            spec[name] = data.draw(st.sampled_from(part["enum"]))
        elif part.get("type") == "boolean":
            spec[name] = data.draw(st.booleans())
        elif part.get("type") == "array" and "minItems" not in part:
            spec[name] = []
        elif part.get("type") == "object" and not part.get("required"):
            spec[name] = {}
        else:
            return None
    return spec


PYTHON: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def complaints(schema: dict[str, Any], value: Any, path: str) -> list[str]:
    """A small validator of structural schemas that shares nothing with the generator."""
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if type(value) not in (int, str):
            return [f"{path}: {value!r} is no int or string"]
    elif kind and (
        not isinstance(value, PYTHON[kind]) or (type(value) is bool and kind != "boolean")
    ):
        return [f"{path}: {value!r} is no {kind}"]
    found = [f"{path}: {value!r} breaks {key}" for key in broken(schema, value)]
    if isinstance(value, dict):
        found += [f"{path}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, entry in value.items():
            part = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if part:
                found += complaints(part, entry, f"{path}.{name}")
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                found.append(f"{path}: {name} would be dropped")
    if isinstance(value, list):
        for entry in value:
            found += complaints(schema["items"], entry, f"{path}[]")
    return found


def broken(schema: dict[str, Any], value: Any) -> list[str]:
    number = isinstance(value, int | float)
    low, high = schema.get("minimum"), schema.get("maximum")
    sizes: dict[Any, str] = {str: "Length", list: "Items", dict: "Properties"}
    size = sizes.get(type(value))
    checks = {
        "enum": value in schema.get("enum", [value]),
        "minimum": not number or low is None or value >= low,
        "exclusiveMinimum": not schema.get("exclusiveMinimum") or value != low,
        "maximum": not number or high is None or value <= high,
        "exclusiveMaximum": not schema.get("exclusiveMaximum") or value != high,
        "multipleOf": value % schema["multipleOf"] == 0 if "multipleOf" in schema else True,
        "pattern": type(value) is not str or re.search(schema.get("pattern", ""), value),
        "least": not size or len(value) >= schema.get(f"min{size}", 0),
        "most": not size or len(value) <= schema.get(f"max{size}", len(value)),
        "set": schema.get("x-kubernetes-list-type") != "set" or len(set(value)) == len(value),
        "date-time": schema.get("format") != "date-time" or re.search(r"(Z|[+-]\d\d:\d\d)$", value),
    }
    return [name for name, holds in checks.items() if not holds]


def test_the_validator_of_these_tests_finds_faults() -> None:
    class Item(Struct):
        name: Annotated[str, Meta(max_length=2)]

    class Spec(Struct):
        items: Annotated[list[Item], ListMap("name")]
        count: Annotated[int, Meta(gt=0)] = 1

    class Thing(Resource):
        spec: Spec

    schema = schema_of(resource(group="a.b", version="v1")(Thing))["properties"]["spec"]
    assert complaints(schema, {"items": [{"name": "ab"}], "count": 3}, "$") == []
    assert complaints(schema, {"items": [{"name": "abc"}], "count": 0, "x": 1}, "$") == [
        "$.items[].name: 'abc' breaks most",
        "$.count: 0 breaks exclusiveMinimum",
        "$: x would be dropped",
    ]
    assert complaints(schema, {"items": [{}], "count": "1"}, "$") == [
        "$.items[]: no name",
        "$.count: '1' is no integer",
    ]
