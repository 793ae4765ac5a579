"""`quiver preflight`: checks before something that cannot be undone."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiver.cli.choice import add_controllers
from quiver.cli.dev import Groups
from quiver.engine.installing.manifests import words

if TYPE_CHECKING:
    from quiver.engine.controller import Controller


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    preflight = groups.add_parser("preflight", help="check before something that cannot be undone")
    verbs = preflight.add_subparsers(title="commands", metavar="COMMAND", required=True)
    uninstall = verbs.add_parser(
        "uninstall",
        help="whether anything is left that the operator keeps running",
        description="Fails while there are resources that only the operator looks after.",
    )
    add_controllers(uninstall)
    uninstall.add_argument("--namespaces", type=words, default=[], metavar="A,B")
    uninstall.add_argument("--kubeconfig", type=Path, metavar="FILE")
    uninstall.add_argument("--context", metavar="NAME")
    uninstall.set_defaults(run=_uninstall)


def _uninstall(arguments: argparse.Namespace) -> int:
    import asyncio

    from quiver.operators import chosen

    left = asyncio.run(_left(arguments, chosen(arguments.controllers)))
    for line in left:
        print(f"quiver: {line}", file=sys.stderr)
    if left:
        print(
            "quiver: delete these first, or skip this check and leave them without an operator",
            file=sys.stderr,
        )
    return 1 if left else 0


async def _left(
    arguments: argparse.Namespace, controllers: "list[type[Controller[Any]]]"
) -> list[str]:
    from quiver.engine.installing.leftovers import leftovers
    from quiver.kube import Client, KubeConfig

    file, context = arguments.kubeconfig, arguments.context
    config = KubeConfig.load(file, context) if file else KubeConfig.default(context)
    async with Client(config) as client:
        return await leftovers(client, controllers, arguments.namespaces)
