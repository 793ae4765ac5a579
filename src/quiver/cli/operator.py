"""`quiver operator`: the process that keeps everything running. Its pod's command."""

import argparse


def add_to(groups: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from quiver.engine.arguments import add_arguments

    command = groups.add_parser("operator", help="run the operator")
    command.set_defaults(run=run)
    command.add_argument("--controllers", default="", metavar="A,B", help="default: all")
    add_arguments(command)


def run(arguments: argparse.Namespace) -> int:
    from quiver.engine.arguments import run
    from quiver.operators import chosen

    return run(arguments, [kind() for kind in chosen(arguments.controllers)])
