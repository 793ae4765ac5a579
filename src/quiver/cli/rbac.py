"""`quiver rbac`: the rights that the operator needs, for those who grant them by hand."""

import argparse

from quiver.cli.choice import add_controllers, words
from quiver.cli.dev import Groups


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    rbac = groups.add_parser(
        "rbac",
        help="print the rights that the operator needs",
        description="Prints the least roles with which the operator works, and their bindings.",
    )
    add_controllers(rbac)
    rbac.add_argument(
        "--namespace", default="quiver-system",
        help="where the operator runs (default: quiver-system)",
    )  # fmt: skip
    rbac.add_argument(
        "--service-account", default="quiver", metavar="NAME",
        help="as whom it runs there (default: quiver)",
    )  # fmt: skip
    rbac.add_argument(
        "--namespaces", type=words, default=[], metavar="A,B",
        help="the namespaces that it is limited to (default: all)",
    )  # fmt: skip
    rbac.add_argument(
        "--install-crds", action=argparse.BooleanOptionalAction, default=True,
        help="whether it installs its CustomResourceDefinitions",
    )  # fmt: skip
    rbac.add_argument(
        "--webhooks", action=argparse.BooleanOptionalAction, default=True,
        help="whether it answers admission webhooks",
    )  # fmt: skip
    rbac.set_defaults(run=_rbac)


def _rbac(arguments: argparse.Namespace) -> int:
    from quiver.engine.crd.manifest import as_yaml
    from quiver.engine.roles import Setting, bound, operator_roles
    from quiver.operators import chosen

    setting = Setting(
        namespace=arguments.namespace,
        watched=arguments.namespaces,
        installs_definitions=arguments.install_crds,
        answers_webhooks=arguments.webhooks,
    )
    roles = operator_roles(chosen(arguments.controllers), setting)
    account, namespace = arguments.service_account, arguments.namespace
    bindings = [bound(role, account=account, namespace=namespace) for role in roles]
    print(as_yaml([*roles, *bindings]), end="")
    return 0
