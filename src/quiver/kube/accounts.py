"""Short-lived tokens of service accounts."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from quiver.kube.client import Client
from quiver.kube.secretive import Secretive


class IssuedToken(Secretive, frozen=True, kw_only=True):
    hidden: ClassVar[frozenset[str]] = frozenset({"token"})

    token: str
    expires: datetime


async def issue_token(
    client: Client,
    account: str,
    namespace: str,
    *,
    seconds: int = 3600,
    audiences: Sequence[str] = (),
) -> IssuedToken:
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds, "audiences": list(audiences)},
    }
    answer = await client.create_subresource(
        "v1", "ServiceAccount", account, "token", body, namespace
    )
    status = answer["status"]
    expires = datetime.fromisoformat(status["expirationTimestamp"])
    return IssuedToken(token=status["token"], expires=expires)
