"""The commands that print what an operator needs, for ours and for those of other teams."""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quiver.engine.installing.rbac import AnyController

# The modules behind these commands are imported when they run: `--help` stays quick.


def add_crds_arguments(command: argparse.ArgumentParser, *, example: str) -> None:
    command.add_argument("name", nargs="*", help=f"only these: {example}")
    command.set_defaults(refuse=command.error)


def print_crds(arguments: argparse.Namespace, controllers: "Iterable[AnyController]") -> int:
    from quiver.engine.crd.manifest import as_yaml
    from quiver.engine.installing.definitions import definition

    known = {it.resource.definition.name: it.resource for it in controllers}
    names = arguments.name or list(known)
    if unknown := [name for name in names if name not in known]:
        arguments.refuse(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    print(as_yaml(definition(known[name]) for name in names), end="")
    return 0


def add_rbac_arguments(command: argparse.ArgumentParser, *, name: str, namespace: str) -> None:
    command.add_argument(
        "--namespace", default=namespace,
        help=f"where the operator runs (default: {namespace})",
    )  # fmt: skip
    command.add_argument(
        "--service-account", default=name, metavar="NAME",
        help=f"as whom it runs there (default: {name})",
    )  # fmt: skip
    command.add_argument(
        "--namespaces", type=words, default=[], metavar="A,B",
        help="the namespaces that it is limited to (default: all)",
    )  # fmt: skip
    command.add_argument(
        "--install-crds", action=argparse.BooleanOptionalAction, default=True,
        help="whether it installs its CustomResourceDefinitions",
    )  # fmt: skip
    command.add_argument(
        "--webhooks", action=argparse.BooleanOptionalAction, default=True,
        help="whether it answers admission webhooks",
    )  # fmt: skip


def print_rbac(
    arguments: argparse.Namespace, controllers: "Sequence[AnyController]", *, name: str
) -> int:
    from quiver.engine.crd.manifest import as_yaml
    from quiver.engine.installing.roles import Setting, bound, operator_roles

    setting = Setting(
        name=name,
        namespace=arguments.namespace,
        watched=arguments.namespaces,
        installs_definitions=arguments.install_crds,
        answers_webhooks=arguments.webhooks,
    )
    roles = operator_roles(controllers, setting)
    account, namespace = arguments.service_account, arguments.namespace
    bindings = [bound(role, account=account, namespace=namespace) for role in roles]
    print(as_yaml([*roles, *bindings]), end="")
    return 0


def words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
