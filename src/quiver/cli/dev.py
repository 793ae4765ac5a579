"""`quiver dev`: a real Kubernetes cluster on this machine."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quiver.devcluster.spec import Spec

# The modules behind these commands are imported when they run: `--help` stays quick.

Groups = argparse._SubParsersAction  # noqa: SLF001


def add_to(groups: "Groups[argparse.ArgumentParser]") -> None:
    dev = groups.add_parser(
        "dev",
        help="a real Kubernetes cluster on this machine",
        description="A local Kubernetes made of the real parts.",
    )
    verbs = dev.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_up(verbs)
    _add_down(verbs)
    _add_status(verbs)
    _add_kubeconfig(verbs)
    _add_kubectl(verbs)
    _add_logs(verbs)
    _add_images(verbs)


def _add_up(verbs: "Groups[argparse.ArgumentParser]") -> None:
    up = verbs.add_parser("up", help="start a cluster, or find that it is up")
    _add_name(up)
    up.add_argument(
        "--control-plane-only", action="store_true",
        help="just etcd and the API server, on a free port of 127.0.0.1; needs no root",
    )  # fmt: skip
    up.add_argument(
        "--controller-manager", action="store_true", help="also with --control-plane-only"
    )
    up.add_argument(
        "--api-servers", type=int, default=1, metavar="N",
        help="N independent clusters on one etcd (with --control-plane-only)",
    )  # fmt: skip
    up.add_argument("--api-port", type=int, metavar="PORT", help="with --control-plane-only")
    up.add_argument(
        "--simulated-nodes", type=int, default=0, metavar="N",
        help="N nodes that only seem to run pods",
    )  # fmt: skip
    up.add_argument(
        "--gpus", type=int, default=0, metavar="N",
        help="let the node offer N pretend nvidia.com/gpu",
    )  # fmt: skip
    up.add_argument(
        "--node-label", action="append", default=[], metavar="KEY=VALUE", help="may be repeated"
    )
    up.set_defaults(run=_up)


def _add_down(verbs: "Groups[argparse.ArgumentParser]") -> None:
    down = verbs.add_parser("down", help="end a cluster and remove all that it left")
    _add_name(down)
    down.add_argument("--all", action="store_true", help="all clusters of this machine")
    down.set_defaults(run=_down)


def _add_status(verbs: "Groups[argparse.ArgumentParser]") -> None:
    status = verbs.add_parser("status", help="what runs, and how it is")
    status.add_argument("--name", help="one cluster in detail")
    status.set_defaults(run=_status)


def _add_kubeconfig(verbs: "Groups[argparse.ArgumentParser]") -> None:
    kubeconfig = verbs.add_parser("kubeconfig", help="print a cluster's kubeconfig")
    _add_name(kubeconfig)
    kubeconfig.add_argument("--path", action="store_true", help="print where the file is instead")
    kubeconfig.set_defaults(run=_kubeconfig)


def _add_kubectl(verbs: "Groups[argparse.ArgumentParser]") -> None:
    # With another prefix for its own options, all that begins with a dash is left to kubectl.
    kubectl = verbs.add_parser(
        "kubectl", help="run the cluster's own kubectl against it", prefix_chars="+",
        usage="quiver dev kubectl [--name NAME] ...",
    )  # fmt: skip
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    kubectl.set_defaults(run=_kubectl)


def _add_logs(verbs: "Groups[argparse.ArgumentParser]") -> None:
    logs = verbs.add_parser("logs", help="what the parts of a cluster say")
    _add_name(logs)
    logs.add_argument("component", nargs="?", help="one part; without it, the end of each")
    logs.add_argument("--tail", type=int, metavar="LINES", help="only so many lines of the end")
    logs.add_argument("-f", "--follow", action="store_true", help="and what comes after")
    logs.set_defaults(run=_logs)


def _add_images(verbs: "Groups[argparse.ArgumentParser]") -> None:
    images = verbs.add_parser("images", help="list the images in a cluster's registry")
    _add_name(images)
    images.add_argument("--known", action="store_true", help="those that can be packed here")
    images.set_defaults(run=_images)
    load = verbs.add_parser("load-image", help="put images into a cluster's registry")
    _add_name(load)
    load.add_argument("source", nargs="+", help="a tar from `docker save`, or a known name")
    load.set_defaults(run=_load_image)


def _add_name(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--name", default="dev", help="the cluster's name (default: dev)")


def _up(arguments: argparse.Namespace) -> int:
    from quiver.devcluster.progress import Progress
    from quiver.devcluster.report import welcome
    from quiver.devcluster.up import up

    print(welcome(up(_spec(arguments), Progress())))
    return 0


def _spec(arguments: argparse.Namespace) -> "Spec":
    from quiver.devcluster.spec import Spec, parse_labels

    return Spec(
        name=arguments.name,
        node=not arguments.control_plane_only,
        controller_manager=arguments.controller_manager,
        api_servers=arguments.api_servers,
        api_port=arguments.api_port,
        simulated_nodes=arguments.simulated_nodes,
        gpus=arguments.gpus,
        node_labels=parse_labels(arguments.node_label),
    )


def _down(arguments: argparse.Namespace) -> int:
    from quiver.devcluster.down import down
    from quiver.devcluster.home import find_home, visible_homes
    from quiver.devcluster.progress import Progress

    for home in visible_homes() if arguments.all else [find_home(arguments.name)]:
        if not down(home, Progress()):
            print(f"there is no cluster {home.name!r}")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    from quiver.devcluster import report

    if arguments.name is None:
        print(report.overview())
        return 0
    text, healthy = report.details(arguments.name)
    print(text)
    return 0 if healthy else 1


def _kubeconfig(arguments: argparse.Namespace) -> int:
    from quiver.devcluster.report import running_home

    home = running_home(arguments.name)
    print(home.kubeconfig if arguments.path else home.kubeconfig.read_text(), end="")
    return 0


def _kubectl(arguments: argparse.Namespace) -> int:
    import os

    from quiver.devcluster.binaries import Binaries
    from quiver.devcluster.progress import Progress
    from quiver.devcluster.report import running_home

    name, rest = _split_name(arguments.arguments)
    environment = os.environ | {"KUBECONFIG": str(running_home(name).kubeconfig)}
    kubectl = str(Binaries.default(Progress()).ensure(["kubectl"])["kubectl"])
    os.execve(kubectl, ["kubectl", *rest], environment)  # noqa: S606


def _split_name(words: list[str]) -> tuple[str, list[str]]:
    match words:
        case ["--name", name, *rest]:
            return name, rest
        case [option, *rest] if option.startswith("--name="):
            return option.removeprefix("--name="), rest
        case _:
            return "dev", words


def _logs(arguments: argparse.Namespace) -> int:
    from quiver.devcluster import logs
    from quiver.devcluster.home import find_home

    return logs.show(
        find_home(arguments.name), arguments.component, tail=arguments.tail, follow=arguments.follow
    )


def _images(arguments: argparse.Namespace) -> int:
    import asyncio

    from quiver.devcluster.imagestore import stored
    from quiver.devcluster.known_images import known_images
    from quiver.devcluster.report import network_of

    names = known_images() if arguments.known else asyncio.run(stored(network_of(arguments.name)))
    print("\n".join(sorted(names)))
    return 0


def _load_image(arguments: argparse.Namespace) -> int:
    from quiver.devcluster.imagestore import load
    from quiver.devcluster.progress import Progress
    from quiver.devcluster.report import network_of, running_home

    home, network = running_home(arguments.name), network_of(arguments.name)
    for source in arguments.source:
        for name in load(home, network, source, Progress()):
            print(name)
    return 0
