"""NetworkPolicies between real pods."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.waiting import until
from support.pods import busybox_pod

Kubectl = Callable[..., str]

SERVE = "mkdir /www && echo open > /www/index.html && exec busybox httpd -f -p 8080 -h /www"


def policy(name: str, spec: dict[str, Any]) -> str:
    document = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }
    return json.dumps(document)


@pytest.mark.usefixtures("busybox_image")
async def test_a_policy_lets_in_whom_it_names_and_nobody_else(kubectl: Kubectl) -> None:
    pods = [busybox_pod("server", SERVE, labels={"app": "server"})]
    pods += [
        busybox_pod(it, "exec sleep 3600", labels={"app": it}) for it in ("friend", "stranger")
    ]
    for pod in pods:
        kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    kubectl("wait", "pod", "--all", "--for=condition=Ready", "--timeout=60s")
    address = kubectl("get", "pod/server", "-o", "jsonpath={.status.podIP}")

    def reaches(pod: str) -> bool:
        # Not `wget -T`: Debian's static busybox crashes on it.
        fetch = ("timeout", "2", "wget", "-qO-", f"http://{address}:8080/")
        try:
            return kubectl("exec", pod, "--", *fetch) == "open\n"
        except DevClusterError:
            return False

    async def settled(friend: bool, stranger: bool) -> None:
        async def missing() -> str | None:
            found = {"friend": reaches("friend"), "stranger": reaches("stranger")}
            return None if found == {"friend": friend, "stranger": stranger} else str(found)

        await until(missing, within=30)

    await settled(friend=True, stranger=True)
    allowed = {
        "from": [{"podSelector": {"matchLabels": {"app": "friend"}}}],
        "ports": [{"port": 8080}],
    }
    spec = {"podSelector": {"matchLabels": {"app": "server"}}, "ingress": [allowed]}
    kubectl("apply", "-f", "-", stdin=policy("friends-only", spec))
    await settled(friend=True, stranger=False)

    shut = {"podSelector": {}, "policyTypes": ["Egress"]}
    kubectl("apply", "-f", "-", stdin=policy("nothing-out", shut))
    await settled(friend=False, stranger=False)

    kubectl("delete", "networkpolicy", "--all")
    await settled(friend=True, stranger=True)
