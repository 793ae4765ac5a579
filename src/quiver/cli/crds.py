"""`quiver crds`: the CustomResourceDefinitions, for those who install them by hand."""

import argparse

from quiver.cli.choice import add_controllers
from quiver.cli.dev import Groups


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    crds = groups.add_parser(
        "crds",
        help="print the CustomResourceDefinitions",
        description="Prints the CustomResourceDefinitions as YAML, for `kubectl apply -f -`.",
    )
    add_controllers(crds)
    crds.add_argument("name", nargs="*", help="only these: vecodexsets.apps.vecodex.link")
    crds.set_defaults(run=_crds, refuse=crds.error)


def _crds(arguments: argparse.Namespace) -> int:
    from quiver.engine.crd.manifest import as_yaml
    from quiver.engine.definitions import definition
    from quiver.operators import chosen

    known = {it.resource.definition.name: it.resource for it in chosen(arguments.controllers)}
    names = arguments.name or list(known)
    if unknown := [name for name in names if name not in known]:
        arguments.refuse(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    print(as_yaml(definition(known[name]) for name in names), end="")
    return 0
