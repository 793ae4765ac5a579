"""`quiver crds`: the CustomResourceDefinitions, for those who install them by hand."""

import argparse

from quiver.cli.choice import add_controllers
from quiver.cli.dev import Groups
from quiver.engine.installing.manifests import add_crds_arguments, print_crds


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    crds = groups.add_parser(
        "crds",
        help="print the CustomResourceDefinitions",
        description="Prints the CustomResourceDefinitions as YAML, for `kubectl apply -f -`.",
    )
    add_controllers(crds)
    add_crds_arguments(crds, example="vecodexsets.apps.vecodex.link")
    crds.set_defaults(run=_crds)


def _crds(arguments: argparse.Namespace) -> int:
    from quiver.operators import chosen

    return print_crds(arguments, chosen(arguments.controllers))
