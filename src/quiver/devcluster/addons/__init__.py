"""What every dev cluster has inside: DNS, an ingress controller, metrics, storage classes."""

from importlib import resources
from string import Template

import yaml

from quiver.devcluster import known_images
from quiver.devcluster.network import Network
from quiver.kube import Client, NotFound, Object

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
    """The first thing that is not ready yet, in words; None when all is."""
    for deployment in await client.list("apps/v1", "Deployment", "kube-system"):
        if deployment.get("status", {}).get("readyReplicas", 0) < 1:
            return f"{deployment['metadata']['name']} is not ready"
    service = await client.get("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io")
    conditions = service.get("status", {}).get("conditions", [])
    if not any(entry["type"] == "Available" and entry["status"] == "True" for entry in conditions):
        return "the metrics API is not available"
    try:
        await client.get("v1", "ConfigMap", "kube-root-ca.crt", "default")
    except NotFound:
        return "the default namespace has no CA yet"
    return None
