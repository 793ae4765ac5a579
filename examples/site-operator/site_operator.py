"""Site: a web server, the Service in front of it and, where it has a host, an Ingress."""

from collections.abc import Iterator
from typing import Annotated

from quiver import sdk


class Spec(sdk.Fields):
    image: Annotated[str, sdk.Meta(description="What serves the pages.", min_length=1)]
    replicas: Annotated[int, sdk.Meta(description="How many pods.", ge=0, le=100)] = 1
    port: Annotated[int, sdk.Meta(description="Where they listen.", ge=1, le=65535)] = 80
    host: Annotated[str | None, sdk.Meta(description="Its name on the outside.")] = None


@sdk.resource(group="example.com", version="v1", columns=[sdk.IS_READY, sdk.WHY, sdk.AGE])
class Site(sdk.Resource):
    """Pages that are served."""

    spec: Spec
    status: sdk.Status = sdk.Status()


def desired(site: Site) -> Iterator[sdk.Object]:
    labels = {"site": site.metadata.name}
    web = {
        "name": "web",
        "image": site.spec.image,
        "ports": [{"name": "http", "containerPort": site.spec.port}],
    }
    pods = {
        "replicas": site.spec.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [web]}},
    }
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    yield sdk.child(site, sdk.DEPLOYMENT, spec=pods)
    yield sdk.child(site, sdk.SERVICE, spec={"selector": labels, "ports": ports})
    if site.spec.host:
        backend = {"service": {"name": site.metadata.name, "port": {"name": "http"}}}
        paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
        rules = [{"host": site.spec.host, "http": {"paths": paths}}]
        yield sdk.child(site, sdk.INGRESS, spec={"rules": rules})


class SiteController(sdk.Controller[Site]):
    name = "site"
    resource = Site
    owns = (sdk.DEPLOYMENT, sdk.SERVICE, sdk.INGRESS)

    async def reconcile(self, site: Site, turn: sdk.Turn[Site]) -> sdk.Outcome:
        outcome = await turn.ensure(desired(site))
        turn.report(sdk.Status(conditions=[sdk.ready(turn.children())]))
        return outcome


if __name__ == "__main__":
    raise SystemExit(sdk.main([SiteController()]))
