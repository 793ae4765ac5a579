"""Which controllers want a say at admission, and under which path they are asked. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from quiver.engine.controller import Controller
from quiver.engine.crd import Definition, Resource


class Verb(StrEnum):
    VALIDATE = "validate"
    MUTATE = "mutate"


@dataclass(frozen=True, slots=True)
class Endpoint:
    verb: Verb
    controller: Controller[Any]

    @property
    def definition(self) -> Definition:
        resource: type[Resource] = self.controller.resource
        return resource.definition

    @property
    def path(self) -> str:
        return f"/{self.verb}/{self.definition.name}"


def endpoints_of(controllers: Iterable[Controller[Any]]) -> tuple[Endpoint, ...]:
    """One for each method that a controller has written itself."""
    found: dict[str, Endpoint] = {}
    for controller in controllers:
        for endpoint in _wanted(controller):
            if other := found.get(endpoint.path):
                raise ValueError(
                    f"controllers {other.controller.name!r} and {controller.name!r} both "
                    f"{endpoint.verb} {endpoint.definition.name}: let one of them do it"
                )
            found[endpoint.path] = endpoint
    return tuple(found.values())


def _wanted(controller: Controller[Any]) -> Iterable[Endpoint]:
    if type(controller).validate is not Controller.validate:
        yield Endpoint(Verb.VALIDATE, controller)
    if type(controller).default is not Controller.default:
        yield Endpoint(Verb.MUTATE, controller)
