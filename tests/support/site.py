"""A small operator to try the engine with: a Site owns a Deployment, a Service and no more."""

from collections.abc import Iterable
from typing import Any

from quiver.engine.controller import Controller, Permission, Refusal, Watch
from quiver.engine.crd import Fields, Resource, Scope, resource
from quiver.engine.kinds import CONFIG_MAP, DEPLOYMENT, NODE, SECRET, SERVICE
from quiver.engine.outcome import Outcome


class SiteSpec(Fields):
    replicas: int = 1


class SiteStatus(Fields):
    replicas: int = 0


@resource(group="rbac.quiver.dev", version="v1")
class Site(Resource):
    """A page that is served."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


@resource(group="rbac.quiver.dev", version="v1", scope=Scope.CLUSTER)
class Zone(Resource):
    """Where pages are served."""

    spec: SiteSpec = SiteSpec()


class SiteController(Controller[Site]):
    name = "site"
    resource = Site
    owns = (DEPLOYMENT, SERVICE)
    owned_formerly = (CONFIG_MAP,)
    watches = (Watch(kind=NODE, maps=lambda _: ()), Watch(kind=SECRET, maps=lambda _: ()))
    permissions = (
        Permission(resources=("pods/log",), verbs=("get",)),
        Permission(
            group="storage.k8s.io", resources=("storageclasses",), verbs=("get",),
            names=("fast",), namespaced=False,
        ),
    )  # fmt: skip

    async def reconcile(self, obj: Site, turn: Any) -> Outcome:
        raise NotImplementedError

    def validate(self, new: Site, old: Site | None) -> Iterable[Refusal]:  # noqa: ARG002
        return ()


class ZoneController(Controller[Zone]):
    name = "zone"
    resource = Zone
    finalizer = "rbac.quiver.dev/zone"

    async def reconcile(self, obj: Zone, turn: Any) -> Outcome:
        raise NotImplementedError
