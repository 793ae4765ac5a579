"""`make demo`: a real cluster, a page behind a Service, and its answer over HTTP."""

import asyncio
import sys
from pathlib import Path

import aiohttp

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.handle import DevCluster
from quiver.devcluster.known_images import BUSYBOX
from quiver.devcluster.progress import Progress
from quiver.devcluster.report import welcome
from quiver.devcluster.spec import Spec
from quiver.devcluster.up import up
from quiver.devcluster.waiting import until

EXAMPLE = Path(__file__).parent.parent / "examples" / "hello" / "hello.yaml"
HOST = "hello.quiver.test"


async def show_page(cluster: DevCluster) -> str:
    await cluster.load_images([BUSYBOX])
    cluster.kubectl("apply", "--server-side", "-f", str(EXAMPLE))
    cluster.kubectl("rollout", "status", "deployment/hello", "--timeout=120s")
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
        cluster = DevCluster(up(Spec(), progress), progress)
        with progress.step("running the sample workload behind a Service", "10 s"):
            answer = asyncio.run(show_page(cluster))
    except DevClusterError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(welcome(cluster.home))
    print(f"\n$ curl -H 'Host: {HOST}' http://{cluster.network.node_ip}/\n{answer}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
