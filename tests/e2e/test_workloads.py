"""What a manifest from the real world expects of a cluster."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import OPERATOR
from quiver.devcluster.waiting import until
from quiver.kube import Client
from support.pods import busybox_pod
from support.web import http

Kubectl = Callable[..., str]

HELLO = Path(__file__).parents[2] / "examples" / "hello" / "hello.yaml"


@pytest.fixture
def hello(kubectl: Kubectl, busybox_image: str) -> None:
    kubectl("apply", "--server-side", "-f", str(HELLO))
    kubectl("rollout", "status", "deployment/hello", "--timeout=60s")


@pytest.mark.usefixtures("hello")
async def test_a_host_header_reaches_the_service_behind_an_ingress(
    cluster: DevCluster, kubectl: Kubectl
) -> None:
    url = f"http://{cluster.network.node_ip}/"

    async def missing() -> str | None:
        status, text = await http("GET", url, headers={"Host": "hello.quiver.test"})
        return None if (status, text) == (200, "Hello from a real pod on a real node.\n") else text

    await until(missing, within=30)
    status, _ = await http("GET", url, headers={"Host": "nobody.quiver.test"})
    assert status == 404
    address = kubectl("get", "ingress/hello", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
    assert address == cluster.network.node_ip


@pytest.mark.usefixtures("hello")
async def test_pods_find_services_by_name_and_themselves_behind_them(kubectl: Kubectl) -> None:
    pods = kubectl("get", "pods", "-l", "app=hello", "-o", "name").split()
    for pod in pods:
        page = kubectl("exec", pod, "--", "wget", "-qO-", "http://hello/")
        assert page == "Hello from a real pod on a real node.\n"
    names = kubectl("exec", pods[0], "--", "nslookup", "kubernetes.default.svc.cluster.local")
    assert "Address" in names


@pytest.mark.usefixtures("busybox_image")
async def test_a_pod_that_asks_for_a_gpu_runs_and_one_that_asks_for_too_many_waits(
    kubectl: Kubectl, cluster_client: Client, cluster_namespace: str
) -> None:
    for name, count in (("one", "1"), ("nine", "9")):
        limits = {"resources": {"limits": {"nvidia.com/gpu": count}}}
        pod = busybox_pod(name, "sleep 3600", container=limits)
        kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    kubectl("wait", "pod/one", "--for=condition=Ready", "--timeout=60s")

    async def missing() -> str | None:
        pod = await cluster_client.get("v1", "Pod", "nine", cluster_namespace)
        said = [entry.get("message", "") for entry in pod["status"].get("conditions", [])]
        return None if any("Insufficient nvidia.com/gpu" in text for text in said) else str(said)

    await until(missing, within=30)


async def test_the_node_carries_the_labels_that_were_asked_for(
    cluster: DevCluster, cluster_client: Client
) -> None:
    node = await cluster_client.get("v1", "Node", cluster.name)
    assert node["metadata"]["labels"]["instance/db"] == "true"
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "c5.4xlarge"


async def test_metrics_of_pods_are_served(cluster: DevCluster, cluster_client: Client) -> None:
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/kube-system/pods"

    async def missing() -> str | None:
        pods = (await cluster_client.json("GET", path))["items"]
        return None if any(pod["containers"] for pod in pods) else "no metrics of any pod"

    await until(missing, within=90, every=1)


READ_API = """
import ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
token = open(f"{folder}/token").read()
tls = ssl.create_default_context(cafile=f"{folder}/ca.crt")
for path in ("/version", "/api/v1/secrets"):
    request = urllib.request.Request(f"https://kubernetes.default.svc{path}")
    request.add_header("Authorization", f"Bearer {token}")
    try:
        print(path, urllib.request.urlopen(request, context=tls, timeout=10).status)
    except urllib.error.HTTPError as error:
        print(path, error.status)
"""


async def test_a_pod_reads_the_api_with_its_service_account_and_no_more_than_it_may(
    cluster: DevCluster, kubectl: Kubectl
) -> None:
    await cluster.load_images([OPERATOR])
    python = {"image": OPERATOR, "command": ["/usr/local/bin/python3", "-c", READ_API]}
    kubectl("apply", "-f", "-", stdin=json.dumps(busybox_pod("reader", "", container=python)))
    kubectl("wait", "pod/reader", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    assert kubectl("logs", "reader") == "/version 200\n/api/v1/secrets 403\n"
