"""The command line of an operator's process, for ours and for those of other teams."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quiver.engine.controller import Controller

_LEASE = "quiver"


def add_arguments(command: argparse.ArgumentParser, *, lease: str = _LEASE) -> None:
    _add_scope(command)
    _add_leadership(command, lease)
    _add_servers(command)
    _add_definitions(command)
    logs = command.add_argument_group("logs")
    by_default = "human" if sys.stderr.isatty() else "json"
    logs.add_argument("--log-format", choices=("json", "human"), default=by_default)
    levels = ("debug", "info", "warning", "error")
    logs.add_argument("--log-level", choices=levels, default="info")


def run(arguments: argparse.Namespace, controllers: "Sequence[Controller[Any]]") -> int:
    """Run the operator as the command line says; the exit code of the process."""
    import uvloop

    from quiver.engine.observe import logs
    from quiver.engine.operate import Options, operate

    logs.setup(format=arguments.log_format, level=arguments.log_level)
    options = Options(
        namespaces=_names(arguments.namespaces),
        workers=arguments.workers,
        leader_elect=arguments.leader_elect,
        shards=arguments.shards,
        own_namespace=arguments.leader_elect_namespace,
        lease=arguments.leader_elect_name,
        metrics_address=arguments.metrics_bind_address,
        health_address=arguments.health_probe_bind_address,
        webhook_address=arguments.webhook_bind_address,
        webhook_service=arguments.webhook_service,
        install_crds=arguments.install_crds,
        take_over_crds=frozenset(_names(arguments.take_over_crds)),
    )
    return int(uvloop.run(operate(_config(arguments), controllers, options)))


def _config(arguments: argparse.Namespace) -> Any:
    from quiver.kube import KubeConfig

    context = arguments.context or None
    if arguments.kubeconfig:
        return KubeConfig.load(Path(arguments.kubeconfig), context)
    return KubeConfig.default(context)


def _add_scope(command: argparse.ArgumentParser) -> None:
    scope = command.add_argument_group("what it works on")
    scope.add_argument("--namespaces", default="", metavar="A,B", help="default: all")
    scope.add_argument("--kubeconfig", default="", metavar="FILE", help="default: as kubectl")
    scope.add_argument("--context", default="", metavar="NAME")
    scope.add_argument("--workers", type=int, default=0, metavar="N", help="per controller")


def _add_leadership(command: argparse.ArgumentParser, lease: str) -> None:
    leading = command.add_argument_group("several replicas")
    leading.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction, default=False,
        help="one of several replicas works",
    )  # fmt: skip
    leading.add_argument(
        "--shards", action="store_true", help="all replicas work, each on its share"
    )
    leading.add_argument(
        "--leader-elect-namespace", default="", metavar="NAME", help="default: its own"
    )
    leading.add_argument("--leader-elect-name", default=lease, metavar="NAME")


def _add_servers(command: argparse.ArgumentParser) -> None:
    servers = command.add_argument_group("servers (HOST:PORT; empty: none)")
    servers.add_argument("--metrics-bind-address", default="", metavar="ADDRESS")
    servers.add_argument("--health-probe-bind-address", default="", metavar="ADDRESS")
    servers.add_argument("--webhook-bind-address", default="", metavar="ADDRESS")
    servers.add_argument(
        "--webhook-service", default="", metavar="NAME", help="the Service in front of it"
    )


def _add_definitions(command: argparse.ArgumentParser) -> None:
    definitions = command.add_argument_group("CustomResourceDefinitions")
    definitions.add_argument(
        "--install-crds", action=argparse.BooleanOptionalAction, default=True,
        help="create those that are missing, and bring its own up to date",
    )  # fmt: skip
    definitions.add_argument(
        "--take-over-crds", default="", metavar="A,B", help="replace these of somebody else"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
