"""The operators of `docs/write-an-operator.md`, and a namespace in which they are tried."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from quiver.engine.kinds import DEPLOYMENT, Kind, kind_of
from quiver.kube import Client, NotFound, Object
from quiver.kube.interceptor import Send
from quiver.kube.request import Answer, Request
from quiver.testing import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "site-operator"


def example(name: str) -> ModuleType:
    """A module of the example's folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site_operator = example("site_operator")
alias_operator = example("alias_operator")
SITE: Kind = kind_of(site_operator.Site)
ALIAS: Kind = kind_of(alias_operator.Alias)


@dataclass
class Ledger:
    """Sits under the operator's clients and writes down what they ask of the server."""

    requests: list[str] = field(default_factory=list)

    async def __call__(self, request: Request, send: Send) -> Answer:
        self.requests.append(f"{request.method} {request.path}")
        return await send(request)

    def writes(self) -> list[str]:
        """Of objects; not the events, which only tell, nor the definition of the kind."""
        others = ("/events", "/customresourcedefinitions")
        return [
            it
            for it in self.requests
            if not it.startswith("GET") and not any(other in it for other in others)
        ]


@dataclass(frozen=True)
class Place:
    """One namespace, in the hands of a person who uses one kind."""

    client: Client
    namespace: str
    kind: Kind = SITE

    async def create(self, name: str, **spec: Any) -> Object:
        usual = {"image": "web:1"} if self.kind is SITE else {}
        return await self.make(self.kind, name, spec=usual | spec)

    async def make(self, kind: Kind, name: str, **body: Any) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        manifest = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        return await self.client.create(manifest | body)

    async def change(self, kind: Kind, name: str, **fields: Any) -> Object:
        return await self.client.patch(kind.api_version, kind.name, name, fields, self.namespace)

    async def delete(self, kind: Kind, name: str) -> None:
        await self.client.delete(kind.api_version, kind.name, name, self.namespace)

    async def get(self, kind: Kind, name: str) -> Object | None:
        try:
            return await self.client.get(kind.api_version, kind.name, name, self.namespace)
        except NotFound:
            return None

    async def pods_are_ready(self, name: str) -> None:
        """As the Deployment's controller would tell, which is not at work here."""
        found = await self.awaited(DEPLOYMENT, name)
        count = found["spec"]["replicas"]
        counted = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = dict.fromkeys(counted, count)
        status["observedGeneration"] = found["metadata"]["generation"]
        await self.client.patch(
            DEPLOYMENT.api_version, DEPLOYMENT.name, name, {"status": status}, self.namespace,
            subresource="status",
        )  # fmt: skip

    async def awaited(
        self, kind: Kind, name: str, holds: Callable[[Object], object] = lambda _: True
    ) -> Object:
        """The object, as soon as it is there and this holds of it."""
        found: list[Object] = []

        async def missing() -> str | None:
            now = await self.get(kind, name)
            if now is None or not holds(now):
                return f"{kind} {name} is {now}"
            found.append(now)
            return None

        await until(missing, within=30, every=0.05)
        return found[0]

    async def gone(self, kind: Kind, name: str) -> None:
        async def left() -> str | None:
            return f"{kind} {name} is there" if await self.get(kind, name) else None

        await until(left, within=30, every=0.05)

    async def told(self, name: str, condition: str, status: str) -> Object:
        """A condition of an object of the kind, as soon as it has this status."""
        found = await self.awaited(
            self.kind, name, lambda it: condition_of(it, condition).get("status") == status
        )
        return condition_of(found, condition)

    async def later(self, name: str = "later") -> None:
        """Another Site runs its whole course: what came before it was seen, on every watch."""
        await self.create(name, host="later.example.com")
        await self.pods_are_ready(name)
        await self.told(name, "Ready", "True")


def condition_of(obj: Object, kind: str) -> Object:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((it for it in conditions if it["type"] == kind), {})
