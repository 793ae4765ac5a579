"""What every dev cluster has inside: DNS, an ingress controller, metrics, storage classes."""

from importlib import resources
from string import Template

import yaml

from quiver.devcluster import known_images
from quiver.devcluster.network import Network
from quiver.kube import Client, Object

FILES = ("storage.yaml", "coredns.yaml", "metrics-server.yaml", "traefik.yaml")


def manifests(network: Network) -> list[Object]:
    values = {
        "coredns": known_images.COREDNS,
        "metrics_server": known_images.METRICS_SERVER,
        "traefik": known_images.TRAEFIK,
        "dns_ip": network.dns_ip,
        "node_ip": network.node_ip,
    }
    folder = resources.files(__package__)
    texts = [Template(folder.joinpath(file).read_text()).substitute(values) for file in FILES]
    return [document for text in texts for document in yaml.safe_load_all(text)]


async def missing(client: Client) -> str | None:
    """The first thing that is not ready yet, in words; None when all is.

    The metrics API is not waited for: it answers after its first round of measurements.
    """
    for name in ("coredns", "traefik"):
        deployment = await client.get("apps/v1", "Deployment", name, "kube-system")
        if deployment.get("status", {}).get("readyReplicas", 0) < 1:
            return f"{name} is not ready"
    return None
