"""The operator inside the test's own process, limited to one namespace, to look at it closely.

Each test has its own namespace, so several such operators run on one API server side by side.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from quiver.devcluster.waiting import until
from quiver.engine.operate import Options, operate
from quiver.kube import Client, KubeConfig, Object
from quiver.kube.interceptor import Interceptor
from quiver.kube.request import Request
from quiver.vecodex.controller import VecodexController

API, KIND = "apps.vecodex.link/v1alpha1", "VecodexSet"
ROLES = ("coordinator", "writer", "searcher")


@asynccontextmanager
async def operating(
    kubeconfig: Path, namespace: str, interceptor: Interceptor | None = None, **options: Any
) -> AsyncIterator[None]:
    """Run the operator for the block, and stop it as a signal would."""
    stop = asyncio.Event()
    chosen = Options(namespaces=(namespace,), own_namespace=namespace, **options)
    config = KubeConfig.load(kubeconfig)
    running = asyncio.create_task(
        operate(config, [VecodexController()], chosen, stop=stop, interceptor=interceptor)
    )
    try:
        yield
    finally:
        stop.set()
        async with asyncio.timeout(40):
            assert await running == 0


def vecodex(namespace: str, name: str = "search", **spec: Any) -> Object:
    components = {role: {"image": f"example.com/{role}:1"} for role in ROLES}
    merged = {**components, "ingress": {"host": f"{name}.example.com"}, **spec}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API, "kind": KIND, "metadata": metadata, "spec": merged}


async def read(client: Client, namespace: str, name: str = "search") -> Object:
    return await client.get(API, KIND, name, namespace)


def condition(obj: Object, kind: str) -> Object:
    found = [it for it in obj.get("status", {}).get("conditions", []) if it["type"] == kind]
    return found[0] if found else {"status": "", "reason": "", "message": ""}


def is_observed(obj: Object) -> bool:
    observed = obj.get("status", {}).get("observedGeneration")
    return bool(observed == obj["metadata"]["generation"])


async def converged(client: Client, namespace: str, *, within: float = 30) -> Object:
    """Wait until the set is observed and nothing is wrong with it; its object."""

    async def missing() -> str | None:
        obj = await read(client, namespace)
        if not is_observed(obj):
            return f"the generation is not observed: {obj.get('status')}"
        degraded = condition(obj, "Degraded")
        return degraded["message"] if degraded["status"] != "False" else None

    await until(missing, within=within)
    return await read(client, namespace)


async def eventually(
    holds: Callable[[], Awaitable[bool]], what: str, *, within: float = 30
) -> None:
    async def missing() -> str | None:
        return None if await holds() else f"still not: {what}"

    await until(missing, within=within)


async def children(client: Client, namespace: str) -> dict[str, Object]:
    """All that the operator makes, by `Kind/name`."""
    kinds: Sequence[tuple[str, str]] = (
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
        ("networking.k8s.io/v1", "Ingress"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
    )
    found: dict[str, Object] = {}
    for api_version, kind in kinds:
        for obj in await client.list(api_version, kind, namespace):
            named = {"apiVersion": api_version, "kind": kind}
            found[f"{kind}/{obj['metadata']['name']}"] = named | obj
    return found


def writes(requests: Sequence[Request]) -> list[Request]:
    """Requests that change something: without the operator's lease, and Events, which only tell."""
    changing = [it for it in requests if it.method != "GET"]
    return [it for it in changing if "/leases" not in it.path and "/events" not in it.path]


def is_write_of(*kinds: str) -> Callable[[Request], bool]:
    def matches(request: Request) -> bool:
        return request.method != "GET" and any(f"/{kind}" in request.path for kind in kinds)

    return matches
