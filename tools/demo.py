"""`make demo`: a real cluster, the operator in it, and a VecodexSet that answers over HTTP."""

import asyncio
import sys
from pathlib import Path

import aiohttp

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import OPERATOR
from quiver.devcluster.progress import Progress
from quiver.devcluster.report import welcome
from quiver.devcluster.spec import Spec
from quiver.devcluster.standins import ROLES, vecodex_image
from quiver.devcluster.up import up
from quiver.devcluster.waiting import until

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "config" / "samples" / "apps_v1alpha1_vecodexset.yaml"
HOST = "search.vecodex.link"


async def install_operator(cluster: DevCluster) -> None:
    await cluster.load_images([OPERATOR])
    cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "config" / "default"))
    wait = ["rollout", "status", "deployment/quiver-controller-manager", "--timeout=120s"]
    cluster.kubectl("--namespace=quiver-system", *wait)


async def run_sample(cluster: DevCluster) -> None:
    await cluster.load_images(vecodex_image(role) for role in ROLES)
    cluster.kubectl("apply", "-f", str(SAMPLE))
    ready = ["wait", "--for=condition=Ready", "vecodexset/search-cluster", "--timeout=120s"]
    cluster.kubectl("--namespace=default", *ready)


async def answered(cluster: DevCluster) -> str:
    answers: list[str] = []

    async def missing() -> str | None:
        status, text = await page(cluster.network.node_ip)
        answers.append(text)
        return None if status == 200 else f"the page was answered with {status}"

    await until(missing, within=30)
    return answers[-1]


async def page(address: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
        session.get(f"http://{address}/", headers={"Host": HOST}) as answer,
    ):
        return answer.status, await answer.text()


def main() -> int:
    progress = Progress()
    try:
        cluster = DevCluster(up(Spec(gpus=1), progress), progress)
        with progress.step("installing the operator", "10 s"):
            asyncio.run(install_operator(cluster))
        with progress.step("running the sample VecodexSet", "10 s"):
            asyncio.run(run_sample(cluster))
            answer = asyncio.run(answered(cluster))
        shown = cluster.kubectl("--namespace=default", "get", "quiver")
    except DevClusterError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(welcome(cluster.home))
    print(f"\n$ kubectl get quiver\n{shown}")
    print(f"$ curl -H 'Host: {HOST}' http://{cluster.network.node_ip}/\n{answer}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
