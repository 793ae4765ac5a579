"""Rights that were granted a moment ago.

The API server's authorizer learns of roles and bindings by watches of its own, a little late. Each
of these four watches is in order: when a role and a binding that came last are known, all that
came before are known too.
"""

import uuid
from functools import partial

from quiver.devcluster.waiting import until
from quiver.kube import Client, Object

GROUP = "sentinel.example.com"
_RBAC = "rbac.authorization.k8s.io/v1"


async def took_effect(client: Client, user: str, namespace: str) -> None:
    """Wait until the server knows all that was granted before."""
    name = f"sentinel-{uuid.uuid4().hex[:8]}"
    for kind in ("Role", "ClusterRole"):
        for obj in _grant(kind, name, user, namespace):
            await client.create(obj)
    for kind in ("Role", "ClusterRole"):
        await until(partial(_refused, client, f"{name}-{kind}", user, namespace), within=20)
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        await client.delete(_RBAC, kind, name)


def _grant(kind: str, name: str, user: str, namespace: str) -> list[Object]:
    metadata = {"name": name} | ({"namespace": namespace} if kind == "Role" else {})
    rule = {"apiGroups": [GROUP], "resources": [f"{name}-{kind}".lower()], "verbs": ["get"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
    return [
        {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": _RBAC,
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]


async def _refused(client: Client, resource: str, user: str, namespace: str) -> str | None:
    asked = {
        "group": GROUP, "resource": resource.lower(), "verb": "get", "namespace": namespace,
    }  # fmt: skip
    review = await client.create(
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {"user": user, "resourceAttributes": asked},
        }
    )
    return None if review["status"]["allowed"] else f"{user} may not get {resource} yet"
