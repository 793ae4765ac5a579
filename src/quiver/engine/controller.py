"""What a team writes to have an operator: one class for each kind.

    class SiteController(Controller[Site]):
        name = "site"
        resource = Site
        owns = (DEPLOYMENT, SERVICE)

        async def reconcile(self, site: Site, turn: Turn) -> Outcome:
            await turn.ensure([desired_deployment(site), desired_service(site)])
            turn.report(SiteStatus(conditions=[ready(turn.owned(DEPLOYMENT))]))
            return None

A reconcile is level-triggered: it reads the world, never an event, may be killed at any
instruction and run at any time, and ends in the same state. What it declares here is all that it
may do: watches, caches and permissions follow from it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from quiver.engine.crd import Resource
from quiver.engine.kinds import Key, Kind
from quiver.engine.outcome import Outcome

if TYPE_CHECKING:
    from quiver.engine.turn import Turn

R = TypeVar("R", bound=Resource)

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one object: None before it was there, None after it is gone.

    Both are the object's JSON without `managedFields`; a mapping decodes what it needs.
    """

    kind: Kind
    key: Key
    before: bytes | None
    after: bytes | None

    @property
    def newest(self) -> bytes:
        return self.after or self.before or b""


Mapping = Callable[[Change], Iterable[Key] | None]
"""None stands for all objects of the controller's kind."""
Predicate = Callable[[Change], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """A kind that is not owned, but whose changes matter, and to which objects they matter."""

    kind: Kind
    maps: Mapping
    when: Predicate = lambda _: True
    labels: str = ""
    """A label selector: what it does not match is neither sent nor cached."""
    metadata_only: bool = False
    only: type[Struct] | None = None
    """The fields that matter, as a Struct: nothing else is cached, nor any other change told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """A right beyond those that follow from `resource`, `owns` and `watches`."""

    group: str = ""
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespaced: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an object is not admitted: where, what is wrong, and what to do about it."""

    field: str
    """As the server writes it: `spec.searcher.replicas`."""
    message: str


class Controller(ABC, Generic[R]):
    """The story of one kind. One instance serves all objects, many at a time: keep no state."""

    name: ClassVar[str]
    """As in `--controllers=`; also the `controller` label of logs and metrics."""
    resource: type[R]
    owns: ClassVar[Sequence[Kind]] = ()
    """Kinds of its children. They are watched, and what `Turn.ensure` is not given is deleted."""
    owned_formerly: ClassVar[Sequence[Kind]] = ()
    """Kinds of children that earlier versions made: only ever deleted."""
    watches: ClassVar[Sequence[Watch]] = ()
    succeeds: ClassVar[Sequence[str]] = ()
    """Field managers of the operators it replaces: what they set on a child becomes ours."""
    permissions: ClassVar[Sequence[Permission]] = ()
    workers: ClassVar[int] = 16
    timeout: ClassVar[float] = 120.0
    """Seconds for one reconcile; beyond, it is cancelled, counted and tried again."""
    finalizer: ClassVar[str] = ""
    """Set only if `finalize` does what garbage collection cannot."""

    @abstractmethod
    async def reconcile(self, obj: R, turn: "Turn[R]") -> Outcome:
        """Bring the world one step nearer to what the object says."""

    async def finalize(self, obj: R, turn: "Turn[R]") -> Outcome:  # noqa: ARG002
        """Undo what garbage collection cannot; None lets the object go."""
        return None

    def validate(self, new: R, old: R | None) -> Iterable[Refusal]:  # noqa: ARG002
        """What CEL cannot say. Asked at admission, and again before each reconcile."""
        return ()

    def default(self, obj: Object) -> Object | None:  # noqa: ARG002
        """The object as it should be stored, from what a person wrote; None leaves it alone."""
        return None
