"""The CustomResourceDefinitions of the enabled controllers, when the operator starts.

`standing.judge` decides; here the server is asked and told. Nothing that concerns one definition
stops the process or another controller. A definition is created by server-side apply, and found
by a watch that selects its name, because only these can be allowed for named objects alone.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

from quiver import __version__
from quiver.engine.controller import Controller
from quiver.engine.crd import Resource, crd_manifest
from quiver.engine.installing.standing import (
    WRITTEN_BY,
    Act,
    Object,
    Off,
    On,
    Standing,
    Waiting,
    changed,
    judge,
)
from quiver.engine.kinds import CUSTOM_RESOURCE_DEFINITION, Kind, kind_of
from quiver.kube import Client, Conflict, Forbidden, Invalid, NotFound

__all__ = ["Off", "On", "Standing", "Waiting", "definition", "settle", "until_established"]

ATTEMPTS = 5
PATIENCE = 30.0
_GLANCE = 0.05
_KIND = CUSTOM_RESOURCE_DEFINITION

AnyController = Controller[Any] | type[Controller[Any]]


def definition(resource: type[Resource], *, version: str = __version__) -> Object:
    """The definition of a kind, as this Quiver writes it."""
    manifest = crd_manifest(resource)
    manifest["metadata"]["annotations"][WRITTEN_BY] = version
    return manifest


async def settle(
    client: Client,
    controllers: Iterable[AnyController],
    *,
    install: bool,
    take_over: frozenset[str] = frozenset(),
    patience: float = PATIENCE,
) -> dict[str, Standing]:
    """See to the definition of each controller, and tell by its name how it stands.

    `take_over` names the definitions of others that may be replaced. Each new definition gets
    `patience` seconds until the server serves it. A server that cannot be reached is a group of
    `KubeError`s.
    """
    async with asyncio.TaskGroup() as group:
        tasks = {
            controller.name: group.create_task(
                _settled(client, controller, install, take_over, patience)
            )
            for controller in controllers
        }
    return {name: task.result() for name, task in tasks.items()}


async def until_established(client: Client, name: str) -> Standing:
    """Wait, without end, until the server serves a definition or says why it never will."""
    while True:
        events = client.watch(_KIND.api_version, _KIND.name, fields=f"metadata.name={name}")
        async with aclosing(events):
            async for event in events:
                if event.type != "DELETED" and (standing := _served(event.object)):
                    return standing


async def _settled(
    client: Client,
    controller: AnyController,
    install: bool,
    take_over: frozenset[str],
    patience: float,
) -> Standing:
    ours = definition(controller.resource)
    name = ours["metadata"]["name"]
    try:
        standing, now = await _brought_about(
            client, ours, controller.name, install=install, take_over=name in take_over
        )
    except Forbidden as error:
        return await _without_rights(client, controller, error)
    except Invalid as error:
        return Off(f"the server refuses Quiver's definition of {name}: {error.message}")
    except (Conflict, NotFound) as error:
        return Waiting(f"somebody else keeps changing the definition of {name}: {error.message}")
    if not isinstance(standing, On):
        return standing
    served = _served(now) or await _awaited(client, name, patience)
    if isinstance(served, On):
        served = await _discovered(client, kind_of(controller.resource), patience)
    return standing if isinstance(served, On) else served


async def _brought_about(
    client: Client, ours: Object, controller: str, *, install: bool, take_over: bool
) -> tuple[Standing, Object]:
    """Judge and act; when somebody else was quicker, judge again."""
    for attempt in range(1, ATTEMPTS + 1):
        found = await _found(client, ours["metadata"]["name"])
        verdict = judge(found, ours, controller=controller, install=install, take_over=take_over)
        try:
            return verdict.standing, await _done(client, verdict.act, found, ours)
        except (Conflict, NotFound):
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


async def _done(client: Client, act: Act, found: Object | None, ours: Object) -> Object:
    """The definition as it is after the act."""
    match act, found:
        case Act.CREATE, _:
            return await client.apply(ours)
        case Act.CHANGE, dict():
            return await client.replace(changed(found, ours))
        case _:
            return found or {}


async def _found(client: Client, name: str) -> Object | None:
    try:
        return await client.get(_KIND.api_version, _KIND.name, name)
    except NotFound:
        return None


async def _awaited(client: Client, name: str, patience: float) -> Standing:
    try:
        async with asyncio.timeout(patience):
            return await until_established(client, name)
    except TimeoutError:
        why = f"the server does not serve CustomResourceDefinition {name} after {patience:.0f} s"
        return Waiting(why)


async def _discovered(client: Client, kind: Kind, patience: float) -> Standing:
    """A definition is called established a moment before the server's own list has its kind."""
    try:
        async with asyncio.timeout(patience):
            while True:
                with contextlib.suppress(NotFound):
                    await client.discovery.find(kind.api_version, kind.name)
                    return On()
                # Nothing can be watched here.
                await asyncio.sleep(_GLANCE)
    except TimeoutError:
        return Waiting(f"the server does not list {kind} after {patience:.0f} s")


async def _without_rights(client: Client, controller: AnyController, error: Forbidden) -> Standing:
    """Where we may not look at or change definitions, it is enough that the kind is served."""
    kind = kind_of(controller.resource)
    try:
        await client.discovery.find(kind.api_version, kind.name)
    except NotFound:
        return Waiting(
            f"{kind} is not served, and Quiver lacks the right to install it ({error.message}): "
            f"the controller {controller.name} waits for it"
        )
    return On(f"{kind} is used as it is: {error.message}")


def _served(found: Object) -> Standing | None:
    # A definition that was just created has a status with `conditions: null`.
    said = (found.get("status") or {}).get("conditions") or []
    conditions = {entry["type"]: entry for entry in said}
    accepted = conditions.get("NamesAccepted", {})
    if accepted.get("status") == "False":
        return Off(f"{found['metadata']['name']} cannot be served: {accepted.get('message', '')}")
    if conditions.get("Established", {}).get("status") == "True":
        return On()
    return None
