"""The controllers of the product, by the names that `--controllers=` takes."""

from typing import Any

from quiver.engine.controller import Controller
from quiver.vecodex.controller import VecodexController


def controllers() -> dict[str, type[Controller[Any]]]:
    found: list[type[Controller[Any]]] = [VecodexController]
    return {controller.name: controller for controller in found}


class UnknownController(Exception):
    """A name that no controller has; the message lists those that exist."""


def chosen(names: str) -> list[type[Controller[Any]]]:
    """Those named, separated by commas; all of them where none is named."""
    known = controllers()
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UnknownController(
            f"there is no controller {', '.join(unknown)}: write some of {', '.join(known)}"
        )
    return [known[name] for name in dict.fromkeys(wanted)]
