"""The program of an operator, with the commands `operator`, `crds` and `rbac`.

if __name__ == "__main__":
    raise SystemExit(main([SiteController()]))
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from quiver.engine import arguments
from quiver.engine.controller import Controller
from quiver.engine.installing import manifests
from quiver.kube import ConfigError, KubeError

Controllers = Sequence[Controller[Any]]
Command = Callable[[argparse.Namespace], int]


def main(controllers: Controllers, argv: Sequence[str] | None = None, *, name: str = "") -> int:
    """Do what the command line says; the exit code of the process.

    `name` is what the operator's Lease, roles and service account are called. Without one it is
    the first controller's: `site-operator` for `site`.
    """
    if not controllers:
        raise ValueError("main() was given no controller: write main([SiteController()])")
    name = name or f"{controllers[0].name}-operator"
    parsed = parser(controllers, name).parse_args(argv)
    try:
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
    except (ConfigError, KubeError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1


def parser(controllers: Controllers, name: str) -> argparse.ArgumentParser:
    kinds = [controller.resource.definition for controller in controllers]
    root = argparse.ArgumentParser(
        prog=name, description=f"The operator of {', '.join(kind.name for kind in kinds)}."
    )
    groups = root.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(verb: str, told: str, run: Command) -> argparse.ArgumentParser:
        made = groups.add_parser(verb, help=told)
        made.set_defaults(run=run)
        return made

    classes = [type(controller) for controller in controllers]
    operator = command("operator", "run it", lambda given: arguments.run(given, controllers))
    arguments.add_arguments(operator, lease=name)
    crds = command(
        "crds", "print the CustomResourceDefinitions",
        lambda given: manifests.print_crds(given, classes),
    )  # fmt: skip
    manifests.add_crds_arguments(crds, example=kinds[0].name)
    rbac = command(
        "rbac", "print the rights that it needs",
        lambda given: manifests.print_rbac(given, classes, name=name),
    )  # fmt: skip
    manifests.add_rbac_arguments(rbac, name=name, namespace=name)
    return root
