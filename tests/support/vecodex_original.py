"""What the original operator makes of a VecodexSet."""

from quiver.kube import Object


def original_deployment(vecodex: Object, role: str) -> Object:
    """As `vecodexset_controller.go` makes it, with its controller reference."""
    metadata, component = vecodex["metadata"], vecodex["spec"][role]
    name = f"{metadata['name']}-{role}"
    container = {"name": role, "image": component["image"], "resources": component["resources"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "ownerReferences": [owner(vecodex)],
        },
        "spec": {
            "replicas": component["replicas"],
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


def owner(vecodex: Object) -> Object:
    return {
        "apiVersion": "apps.vecodex.link/v1alpha1",
        "kind": "VecodexSet",
        "name": vecodex["metadata"]["name"],
        "uid": vecodex["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
