"""Alias: another name for a Service. Names are rented, so each has to be given back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Protocol

from quiver import sdk


class Registrar(Protocol):
    """Where names are rented. To ask twice for the same does no harm."""

    async def rent(self, host: str) -> bool:
        """Whether it is ours by now."""

    async def give_back(self, host: str) -> None: ...


class Taken(Exception):
    """Somebody else has the name."""


class Spec(sdk.Fields):
    service: Annotated[str, sdk.Meta(description="A Service in the same namespace.")]
    host: Annotated[
        str,
        sdk.Meta(description="The name.", pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=253),
        sdk.Immutable("host cannot be changed: make another Alias"),
    ]


class Status(sdk.Status):
    rented: str = ""


@sdk.resource(
    group="example.com", version="v1", plural="aliases", columns=[sdk.IS_READY, sdk.WHY, sdk.AGE]
)
class Alias(sdk.Resource):
    """Another name for a Service."""

    spec: Spec
    status: Status = Status()


def ingress(alias: Alias) -> sdk.Object:
    backend = {"service": {"name": alias.spec.service, "port": {"name": "http"}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    rules = [{"host": alias.spec.host, "http": {"paths": paths}}]
    return sdk.child(alias, sdk.INGRESS, name=f"alias-{alias.metadata.name}", spec={"rules": rules})


def appears_or_goes(change: sdk.Change) -> bool:
    return change.before is None or change.after is None


class AliasController(sdk.Controller[Alias]):
    name = "alias"
    resource = Alias
    owns = (sdk.INGRESS,)
    watches = (
        sdk.Watch(kind=sdk.SERVICE, maps=sdk.to_all, when=appears_or_goes, metadata_only=True),
    )
    finalizer = "example.com/rented-name"

    def __init__(self, registrar: Registrar, *, zone: str) -> None:
        self.registrar = registrar
        self.zone = zone

    def validate(self, new: Alias, _: Alias | None) -> Iterator[sdk.Refusal]:
        if not new.spec.host.endswith(f".{self.zone}"):
            yield sdk.Refusal("spec.host", f"names are rented below {self.zone} only")

    async def reconcile(self, alias: Alias, turn: sdk.Turn[Alias]) -> sdk.Outcome:
        return (
            self.wait_for_service(alias, turn)
            or await self.rent(alias, turn)
            or await self.serve(alias, turn)
        )

    def wait_for_service(self, alias: Alias, turn: sdk.Turn[Alias]) -> sdk.Outcome:
        name = alias.spec.service
        if turn.cached(sdk.SERVICE, name):
            return None
        return sdk.Wait(on=f"Service {name}", reason="create it, or correct spec.service")

    async def rent(self, alias: Alias, turn: sdk.Turn[Alias]) -> sdk.Outcome:
        host = alias.spec.host
        if alias.status.rented == host:
            return None
        async with asking_the_registrar():
            is_ours = await self.registrar.rent(host)
        if not is_ours:
            told = sdk.not_ready("Asked", f"{host} is asked for, and the registrar thinks it over")
            turn.report(Status(conditions=[told]))
            return sdk.Requeue(30, "the registrar tells nobody when it is done")
        turn.event("Rented", f"{host} is ours")
        return None

    async def serve(self, alias: Alias, turn: sdk.Turn[Alias]) -> sdk.Outcome:
        outcome = await turn.ensure([ingress(alias)])
        told = sdk.ready(turn.children())
        turn.report(Status(rented=alias.spec.host, conditions=[told]))
        return outcome

    async def finalize(self, alias: Alias, turn: sdk.Turn[Alias]) -> sdk.Outcome:
        async with asking_the_registrar():
            await self.registrar.give_back(alias.spec.host)
        turn.event("GivenBack", f"{alias.spec.host} is free again")
        return None


@asynccontextmanager
async def asking_the_registrar() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(10):
            yield
    except Taken as error:
        raise sdk.Terminal("somebody else has this name: choose another spec.host") from error
    except OSError as error:
        raise sdk.Transient("the registrar does not answer") from error
