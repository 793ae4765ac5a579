"""`quiver operator`: the process that keeps everything running. Its pod's command."""

import argparse
import sys
from pathlib import Path
from typing import Any

_LEASE = "quiver"


def add_to(groups: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = groups.add_parser("operator", help="run the operator")
    command.set_defaults(run=run)
    _add_scope(command)
    _add_leadership(command)
    _add_servers(command)
    _add_definitions(command)
    logs = command.add_argument_group("logs")
    human = "human" if sys.stderr.isatty() else "json"
    logs.add_argument("--log-format", choices=("json", "human"), default=human)
    levels = ("debug", "info", "warning", "error")
    logs.add_argument("--log-level", choices=levels, default="info")


def _add_scope(command: argparse.ArgumentParser) -> None:
    scope = command.add_argument_group("what it works on")
    scope.add_argument("--controllers", default="", metavar="A,B", help="default: all")
    scope.add_argument("--namespaces", default="", metavar="A,B", help="default: all")
    scope.add_argument("--kubeconfig", default="", metavar="FILE", help="default: as kubectl")
    scope.add_argument("--context", default="", metavar="NAME")
    scope.add_argument("--workers", type=int, default=0, metavar="N", help="per controller")


def _add_leadership(command: argparse.ArgumentParser) -> None:
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
    leading.add_argument("--leader-elect-name", default=_LEASE, metavar="NAME")


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


def run(arguments: argparse.Namespace) -> int:
    import uvloop

    from quiver.engine import logs
    from quiver.engine.operate import Options, operate
    from quiver.kube import KubeConfig
    from quiver.operators import chosen

    logs.setup(format=arguments.log_format, level=arguments.log_level)
    controllers = [kind() for kind in chosen(arguments.controllers)]
    context = arguments.context or None
    if arguments.kubeconfig:
        config = KubeConfig.load(Path(arguments.kubeconfig), context)
    else:
        config = KubeConfig.default(context)
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
    return _run(uvloop, operate(config, controllers, options))


def _run(uvloop: Any, operating: Any) -> int:
    return int(uvloop.run(operating))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
