"""Types become structural schemas."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import msgspec
import pytest
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from quiver.engine.crd import (
    AtLeastOne,
    AtMostOne,
    Atomic,
    CannotDeclare,
    ExactlyOne,
    Fields,
    Immutable,
    ListMap,
    Nullable,
    Resource,
    Rule,
    resource,
    rules,
    schema_of,
)
from quiver.engine.crd.core import Duration, IntOrString, Quantity
from quiver.engine.crd.rules import cel_name, field_path

INTEGER = {"type": "integer", "format": "int64"}
STRING = {"type": "string"}
FREE = {"x-kubernetes-preserve-unknown-fields": True}
EITHER: dict[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
ATOMIC = {"x-kubernetes-list-type": "atomic"}

Name = NewType("Name", str)
T = TypeVar("T")


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Number(Enum):
    ONE = 1
    TWO = 2


class Item(Fields):
    """One of many."""

    name: str
    size: int = 1
    note: str | None = None


ITEM = {
    "description": "One of many.",
    "type": "object",
    "required": ["name"],
    "properties": {"name": STRING, "size": INTEGER | {"default": 1}, "note": STRING},
}


class Box(Fields, Generic[T]):
    content: T


class Node(Fields):
    children: "list[Node]" = []


class Positions(Struct, array_like=True):
    x: int


class Strict(Struct, forbid_unknown_fields=True):
    x: int


def spec_of(hint: Any) -> Any:
    return schema_of(kind(hint))["properties"]["spec"]


def kind(spec_type: Any) -> type[Resource]:
    class Thing(Resource):
        spec: spec_type

    return resource(group="test.quiver.dev", version="v1")(Thing)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, {"type": "number", "format": "double"}),
        (int | float, {"type": "number", "format": "double"}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (Name, STRING),
        (Literal["a", "b"], STRING | {"enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Color, STRING | {"enum": ["red", "blue"]}),
        (Number, {"type": "integer", "enum": [1, 2]}),
        (Annotated[int, Meta(ge=1, le=5)], INTEGER | {"minimum": 1, "maximum": 5}),
        (
            Annotated[int, Meta(gt=1, lt=5)],
            INTEGER
            | {"minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True},
        ),
        (Annotated[int, Meta(ge=0)], INTEGER | {"minimum": 0}),
        (Annotated[int, Meta(multiple_of=4)], INTEGER | {"multipleOf": 4}),
        (
            Annotated[str, Meta(min_length=1, max_length=9, pattern="^a")],
            STRING | {"minLength": 1, "maxLength": 9, "pattern": "^a"},
        ),
        (
            Annotated[str, Meta(title="T", description="D")],
            STRING | {"title": "T", "description": "D"},
        ),
        (
            Annotated[str, Meta(description="D.", examples=["a", "b"])],
            STRING | {"description": 'D. For example "a", "b".'},
        ),
        (
            Annotated[str, Meta(extra_json_schema={"format": "uuid"})],
            STRING | {"format": "uuid"},
        ),
        (
            Annotated[Annotated[int, Meta(ge=1, description="in")], Meta(description="out")],
            INTEGER | {"minimum": 1, "description": "out"},
        ),
        (int | str, EITHER),
        (IntOrString, EITHER),
        (
            Annotated[int, Meta(ge=1)] | Annotated[str, Meta(pattern="%$")],
            EITHER | {"minimum": 1, "pattern": "%$"},
        ),
        (list[str], {"type": "array", "items": STRING} | ATOMIC),
        (list, {"type": "array", "items": FREE} | ATOMIC),
        (list[Item], {"type": "array", "items": ITEM} | ATOMIC),
        (tuple[int, ...], {"type": "array", "items": INTEGER} | ATOMIC),
        (
            tuple[int, int],
            {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2} | ATOMIC,
        ),
        (
            Annotated[list[str], Meta(min_length=1, max_length=2)],
            {"type": "array", "items": STRING, "minItems": 1, "maxItems": 2} | ATOMIC,
        ),
        (set[str], {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}),
        (frozenset[int], {"type": "array", "items": INTEGER, "x-kubernetes-list-type": "set"}),
        (
            Annotated[list[Item], ListMap("name", "size")],
            {
                "type": "array",
                "items": ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "size"],
            },
        ),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (
            Annotated[dict[str, str], Atomic(), Meta(max_length=2)],
            {
                "type": "object",
                "additionalProperties": STRING,
                "maxProperties": 2,
                "x-kubernetes-map-type": "atomic",
            },
        ),
        (dict[str, Any], {"type": "object"} | FREE),
        (dict, {"type": "object"} | FREE),
        (
            dict[str, dict[str, Any]],
            {"type": "object", "additionalProperties": {"type": "object"} | FREE},
        ),
        (Any, FREE),
        (Raw, FREE),
        (list[Any], {"type": "array", "items": FREE} | ATOMIC),
        (Item, ITEM),
        (Annotated[Item, Meta(description="Mine.")], ITEM | {"description": "Mine."}),
        (Annotated[Item, Atomic()], ITEM | {"x-kubernetes-map-type": "atomic"}),
        (Box[int], {"type": "object", "required": ["content"], "properties": {"content": INTEGER}}),
    ],
)
def test_a_type_has_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert spec_of(hint) == schema


class Optional(Fields):
    required: int
    absent: int | None = None
    unset: int | UnsetType = UNSET
    defaulted: int | None = 3
    constrained: Annotated[int, Meta(ge=2)] | None = None
    described: Annotated[int | None, Meta(description="D.")] = None
    nullable: Annotated[int | None, Nullable()] = None


def test_none_means_optional_and_only_nullable_if_told_so() -> None:
    assert spec_of(Optional) == {
        "type": "object",
        "required": ["required"],
        "properties": {
            "required": INTEGER,
            "absent": INTEGER,
            "unset": INTEGER,
            "defaulted": INTEGER | {"default": 3},
            "constrained": INTEGER | {"minimum": 2},
            "described": INTEGER | {"description": "D."},
            "nullable": INTEGER | {"nullable": True},
        },
    }


class Renamed(Fields):
    max_replicas: int
    target_cpu: int = msgspec.field(default=70, name="targetCPU")


def test_fields_have_their_json_names() -> None:
    assert list(spec_of(Renamed)["properties"]) == ["maxReplicas", "targetCPU"]


class Nested(Fields):
    """A docstring that is
    longer than a line.

    And has a second paragraph.
    """

    item: Item
    named: Annotated[Item, Meta(description="The other item.")]


def test_docstrings_flow_and_a_field_may_say_more() -> None:
    schema = spec_of(Nested)
    second = "And has a second paragraph."
    assert schema["description"] == f"A docstring that is longer than a line.\n\n{second}"
    assert schema["properties"]["item"]["description"] == "One of many."
    assert schema["properties"]["named"]["description"] == "The other item."


class Lists(Fields):
    some: list[int] = msgspec.field(default_factory=lambda: [1, 2])
    none: list[int] = []


class Fallback(Fields):
    empty_list: list[int] = []
    empty_map: dict[str, int] = {}
    empty_bytes: bytes = b""
    some: list[int] = msgspec.field(default_factory=lambda: [1, 2])
    tags: set[str] = msgspec.field(default_factory=lambda: {"b", "a"})
    blob: bytes = b"abc"
    color: Color = Color.BLUE
    off: bool = False
    zero: int = 0
    blank: str = ""
    item: Item = Item(name="a")
    deep: Box[Item] = Box(content=Item(name="b", note="n"))
    hollow: Optional = Optional(required=1, defaulted=4)
    emptied: Lists = Lists(some=[])


def test_defaults_are_json_and_complete_without_what_is_empty() -> None:
    properties = spec_of(Fallback)["properties"]
    defaults = {name: part["default"] for name, part in properties.items() if "default" in part}
    assert defaults == {
        "some": [1, 2],
        "tags": ["a", "b"],
        "blob": "YWJj",
        "color": "blue",
        "off": False,
        "zero": 0,
        "blank": "",
        "item": {"name": "a", "size": 1},
        "deep": {"content": {"name": "b", "size": 1, "note": "n"}},
        "hollow": {"required": 1, "defaulted": 4},
        "emptied": {"some": []},
    }


def test_the_status_has_no_defaults() -> None:
    class Thing(Resource):
        spec: Item
        status: Item = Item(name="a")

    schema = schema_of(resource(group="test.quiver.dev", version="v1")(Thing))
    status = schema["properties"]["status"]
    assert schema["required"] == ["spec"]
    assert "default" not in status
    assert "default" not in status["properties"]["size"]


MESSAGE = "it cannot be changed"
SAME = {"rule": "self == oldSelf", "message": MESSAGE}


@rules(Rule("self.low <= self.high", "low is above high", reason="FieldValueInvalid"))
class Ruled(Fields):
    low: int = 1
    high: Annotated[int, Rule("self % 2 == 1", message_expression="'odd: %d'.format([self])")] = 3
    fixed: Annotated[int, Immutable(MESSAGE)]
    defaulted: Annotated[int, Immutable(MESSAGE)] = 1
    late: Annotated[int, Immutable(MESSAGE)] | None = None


@rules(Rule("self.more > 0", field_path=".more", optional_old_self=True))
class RuledMore(Ruled):
    more: int = 1


def test_rules_stand_where_they_were_declared() -> None:
    schema = spec_of(Ruled)
    high = schema["properties"]["high"]
    assert schema["x-kubernetes-validations"] == [
        {
            "rule": "self.low <= self.high",
            "message": "low is above high",
            "reason": "FieldValueInvalid",
        },
        {"rule": "!has(oldSelf.late) || has(self.late)", "message": MESSAGE, "fieldPath": ".late"},
    ]
    assert high["x-kubernetes-validations"] == [
        {"rule": "self % 2 == 1", "messageExpression": "'odd: %d'.format([self])"}
    ]
    for name in ("fixed", "defaulted", "late"):
        assert schema["properties"][name]["x-kubernetes-validations"] == [SAME]


def test_rules_are_inherited() -> None:
    found = [rule["rule"] for rule in spec_of(RuledMore)["x-kubernetes-validations"]]
    assert found[:2] == ["self.low <= self.high", "self.more > 0"]


def test_a_rule_on_a_field_follows_the_rules_of_its_type() -> None:
    schema = spec_of(Annotated[RuledMore, Rule("self.low > 0")])
    assert schema["x-kubernetes-validations"][-1] == {"rule": "self.low > 0"}


@rules(ExactlyOne("a_b", "namespace"), AtMostOne("a_b", "c"), AtLeastOne("c", "namespace"))
class Choice(Fields):
    a_b: int | None = None
    namespace: int | None = None
    c: int | None = None


def test_groups_are_counted_by_the_names_in_json() -> None:
    assert spec_of(Choice)["x-kubernetes-validations"] == [
        {
            "rule": "(has(self.aB) ? 1 : 0) + (has(self.__namespace__) ? 1 : 0) == 1",
            "message": "exactly one of aB, namespace must be set",
        },
        {
            "rule": "(has(self.aB) ? 1 : 0) + (has(self.c) ? 1 : 0) <= 1",
            "message": "at most one of aB, c must be set",
        },
        {
            "rule": "(has(self.c) ? 1 : 0) + (has(self.__namespace__) ? 1 : 0) >= 1",
            "message": "at least one of c, namespace must be set",
        },
    ]


@pytest.mark.parametrize(
    ("name", "cel", "path"),
    [
        ("plain", "plain", ".plain"),
        ("in", "__in__", ".in"),
        ("a-b", "a__dash__b", "['a-b']"),
        ("a.b/c", "a__dot__b__slash__c", "['a.b/c']"),
        ("a__b", "a__underscores__b", ".a__b"),
    ],
)
def test_names_are_escaped_as_cel_wants_them(name: str, cel: str, path: str) -> None:
    assert (cel_name(name), field_path(name)) == (cel, path)


class Wrong(Fields):
    value: Annotated[int, Immutable("no")] = 1


class BadDefault(Fields):
    value: Annotated[int, Meta(ge=5)] = 1


class Naive(Fields):
    value: datetime = datetime(2024, 1, 1)  # noqa: DTZ001


class Endless(Fields):
    value: float = float("inf")


class NoBytes(Fields):
    value: Box[bytes] = Box(content=b"")


class NeverNone(Fields):
    value: Annotated[int, Nullable()] = 1


class Hollow(Fields):
    value: Optional = Optional(required=1, defaulted=None)


class NoDefault(Fields):
    value: int | None


class Outside(Fields):
    value: Annotated[int | None, Meta(ge=1)] = None


@rules(ExactlyOne("value", "other"))
class Misspelt(Fields):
    value: int | None = None


@rules(ExactlyOne("name", "size"))
class NotAbsent(Fields):
    name: str | None = None
    size: int = 1


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        (Node, r"Thing\.spec\.children\[\]: Node → Node is recursive, .* `dict\[str, Any\]`"),
        (Positions, r"Thing\.spec: Positions is array_like or tagged"),
        (Strict, r"Thing\.spec: Strict forbids unknown fields"),
        (timedelta, r"Thing\.spec: timedelta is not supported; use .* Duration"),
        (Decimal, r"Thing\.spec: Decimal is not supported; use .* Quantity"),
        (dict[str, list[complex]], r"Thing\.spec\[\*\]\[\]"),
        (dict[int, str], r"Thing\.spec: the keys of a map are plain `str`"),
        (str | bool, r"Thing\.spec: .* give each alternative an optional field"),
        (tuple[int, str], r"Thing\.spec: a tuple of different types"),
        (list[int | None], r"Thing\.spec\[\]: an entry cannot be null"),
        (set[tuple[int, ...]], r"Thing\.spec: a set holds only strings, numbers or booleans"),
        (Literal["a", 1], r"Thing\.spec: the values of a Literal or Enum must all be strings"),
        (
            Annotated[str, Meta(pattern="^(?!a)")],
            r"Thing\.spec: the pattern .* needs what RE2 lacks",
        ),
        (Annotated[list[Item], ListMap("nam")], r"Thing\.spec: ListMap names the field 'nam'"),
        (
            Annotated[list[Item], ListMap("note")],
            r"Thing\.spec: the key 'note' .* must be required",
        ),
        (Annotated[list[str], ListMap("a")], r"Thing\.spec: ListMap needs a list of Structs"),
        (Annotated[list[str], Atomic()], r"Thing\.spec: Atomic is for maps and Structs"),
        (list[Wrong], r"Thing\.spec\[\]\.value: the rule 'self == oldSelf' asks for the old value"),
        (BadDefault, r"Thing\.spec\.value: its default 1 is invalid: Expected `int` >= 5"),
        (Naive, r"Thing\.spec\.value: its default has no time zone"),
        (Endless, r"Thing\.spec\.value: its default null is invalid"),
        (NoBytes, r"Thing\.spec\.value\.content: its default has empty bytes"),
        (NeverNone, r"Thing\.spec\.value: a Nullable field is read as None"),
        (Hollow, r"Thing\.spec\.value\.defaulted: .* the server would fill in 3"),
        (NoDefault, r"Thing\.spec\.value: it may be null, so it may be absent"),
        (Outside, r"Thing\.spec\.value: .* constraints go inside: `Annotated\[X, Meta"),
        (Misspelt, r"Thing\.spec: a rule names the field 'other', which is not there"),
        (NotAbsent, r"Thing\.spec\.size: a field that competes with others must"),
    ],
)
def test_what_has_no_schema_is_refused_by_its_path(hint: Any, sentence: str) -> None:
    with pytest.raises(CannotDeclare, match=sentence):
        spec_of(hint)


@pytest.mark.parametrize("pattern", [r"a(?=b)", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", r"a++"])
def test_patterns_that_only_python_knows_are_refused(pattern: str) -> None:
    with pytest.raises(CannotDeclare, match="RE2"):
        spec_of(Annotated[str, Meta(pattern=pattern)])


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (
            Quantity,
            [1, "1", "1.5Gi", "500m", "1e3", "-1", ".5", "5."],
            ["", "1GB", "1 Gi", "Gi", 1.5],
        ),
        (Duration, ["50ms", "2h30m", "1.5s", "90s"], ["", "2", "2 h", "h", "-1s", "PT2H"]),
    ],
)
def test_quantities_and_durations_are_what_kubernetes_takes(
    hint: Any, good: list[Any], bad: list[Any]
) -> None:
    for value in good:
        assert msgspec.convert(value, hint) == value
    for value in bad:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, hint)
