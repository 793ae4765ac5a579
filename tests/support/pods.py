"""Pods for tests."""

from typing import Any


def busybox_pod(name: str, script: str, **spec: Any) -> dict[str, Any]:
    """A pod that runs a shell script; `spec` adds to the pod's, `container` to the container's."""
    container = spec.pop("container", {})
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "main", "image": "busybox:1.36", "command": ["sh", "-c", script]}
                | container
            ],
        }
        | spec,
    }
