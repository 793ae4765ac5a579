"""What a kind is: its Struct, its names, and what `kubectl get` shows."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import ClassVar, Literal, TypeVar

from msgspec import Struct

from quiver.engine.crd.errors import CannotDeclare
from quiver.engine.crd.fields import Fields
from quiver.engine.crd.metadata import ObjectMeta
from quiver.engine.crd.rules import Rule

ColumnType = Literal["string", "integer", "number", "boolean", "date"]


class Scope(StrEnum):
    NAMESPACED = "Namespaced"
    CLUSTER = "Cluster"


class Column(Struct, frozen=True):
    """A column of `kubectl get`; those with a priority above 0 only show with `-o wide`."""

    name: str
    type: ColumnType
    path: str
    description: str = ""
    priority: int = 0


AGE = Column("Age", "date", ".metadata.creationTimestamp")


class Scale(Struct, frozen=True):
    """Where `kubectl scale` and autoscalers read and write."""

    spec: str
    status: str
    selector: str = ""


class Version(Struct, frozen=True):
    """One of several names for the same schema. A deprecated one says what to use instead."""

    name: str
    served: bool = True
    deprecated: str = ""


class Definition(Struct, frozen=True, kw_only=True):
    """What `@resource` was told. The first version is the one that is stored."""

    group: str
    versions: tuple[Version, ...]
    kind: str
    plural: str
    scope: Scope
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[Column, ...]
    scale: Scale | None
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.versions[0].name}"


class Resource(Fields):
    """The base of every kind; `@resource` on a subclass makes it one."""

    definition: ClassVar[Definition]

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""


R = TypeVar("R", bound=Resource)


def resource(
    *,
    group: str,
    version: str = "",
    versions: Sequence[str | Version] = (),
    kind: str = "",
    plural: str = "",
    scope: Scope = Scope.NAMESPACED,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    columns: Sequence[Column] = (),
    scale: Scale | None = None,
    rules: Sequence[Rule] = (),
) -> Callable[[type[R]], type[R]]:
    """Makes a subclass of `Resource` a kind, named as its class unless told otherwise.

    `self` of the rules is the whole object. Rules about the spec alone belong on its Struct.
    """

    def declare(cls: type[R]) -> type[R]:
        if bool(version) == bool(versions):
            raise CannotDeclare(cls.__name__, "write either `version=` or `versions=`")
        named = kind or cls.__name__
        cls.definition = Definition(
            group=group,
            versions=tuple(map(_version, versions or [version])),
            kind=named,
            plural=plural or f"{named.lower()}s",
            scope=scope,
            short_names=tuple(short_names),
            categories=tuple(categories),
            columns=tuple(columns),
            scale=scale,
            rules=tuple(rules),
        )
        return cls

    return declare


def definition_of(cls: type[Resource]) -> Definition:
    found = vars(cls).get("definition")
    if not isinstance(found, Definition):
        raise CannotDeclare(cls.__name__, "it is no kind yet: put `@resource(…)` on the class")
    return found


def _version(version: str | Version) -> Version:
    return version if isinstance(version, Version) else Version(version)
