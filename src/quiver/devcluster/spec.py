"""What somebody asked for: one dev cluster, as plain data."""

import re
from typing import Annotated

import msgspec

from quiver.devcluster.errors import DevClusterError

Count = Annotated[int, msgspec.Meta(ge=0)]

NAME = re.compile(r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?")
LABEL = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "dev"
    node: bool = True
    controller_manager: bool = False
    api_servers: int = 1
    api_port: int | None = None
    simulated_nodes: Count = 0
    gpus: Count = 0
    node_labels: dict[str, str] = {}
    # The cluster ends when the holder of this lock file is gone; used by tests.
    tied_to: str | None = None

    @property
    def runs_controllers(self) -> bool:
        return self.node or self.controller_manager or self.simulated_nodes > 0

    @property
    def runs_scheduler(self) -> bool:
        return self.node or self.simulated_nodes > 0


def checked_name(name: str) -> str:
    if NAME.fullmatch(name):
        return name
    raise DevClusterError(
        f"{name!r} cannot be a cluster's name: use up to 30 lower-case letters, digits and dashes,"
        " beginning with a letter"
    )


def checked(spec: Spec) -> Spec:
    """The same spec, or one sentence on what is wrong with it."""
    checked_name(spec.name)
    if spec.gpus < 0 or spec.simulated_nodes < 0:
        raise DevClusterError("--gpus and --simulated-nodes take a number from 0 up")
    if spec.api_port is not None and not 0 < spec.api_port < 65536:
        raise DevClusterError("--api-port takes a number from 1 to 65535")
    if spec.api_servers < 1 or spec.api_servers > 50:
        raise DevClusterError("--api-servers takes a number from 1 to 50")
    if spec.api_servers > 1 and spec.node:
        raise DevClusterError(
            "several API servers have no node to share: add --control-plane-only to --api-servers"
        )
    if not spec.node and (spec.gpus or spec.node_labels):
        raise DevClusterError("--gpus and --node-label need a node: drop --control-plane-only")
    return spec


def parse_labels(texts: list[str]) -> dict[str, str]:
    labels = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not LABEL.fullmatch(key):
            raise DevClusterError(f"{text!r} is not a label: write --node-label key=value")
        labels[key] = value
    return labels
