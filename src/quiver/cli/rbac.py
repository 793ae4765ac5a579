"""`quiver rbac`: the rights that the operator needs, for those who grant them by hand."""

import argparse

from quiver.cli.choice import add_controllers
from quiver.cli.dev import Groups
from quiver.engine.installing.manifests import add_rbac_arguments, print_rbac


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    rbac = groups.add_parser(
        "rbac",
        help="print the rights that the operator needs",
        description="Prints the least roles with which the operator works, and their bindings.",
    )
    add_controllers(rbac)
    add_rbac_arguments(rbac, name="quiver", namespace="quiver-system")
    rbac.set_defaults(run=_rbac)


def _rbac(arguments: argparse.Namespace) -> int:
    from quiver.operators import chosen

    return print_rbac(arguments, chosen(arguments.controllers), name="quiver")
