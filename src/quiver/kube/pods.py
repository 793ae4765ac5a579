"""What only pods can do: be evicted, and tell what they wrote."""

from collections.abc import AsyncGenerator

from quiver.kube.calls import subject_of
from quiver.kube.client import Client, Object
from quiver.kube.lines import text_lines
from quiver.kube.writing import delete_options


async def evict(
    client: Client,
    name: str,
    namespace: str,
    *,
    uid: str | None = None,
    grace_seconds: int | None = None,
    dry_run: bool = False,
) -> None:
    """A delete that respects budgets: `DisruptionBudgetExceeded` where one does not allow it."""
    body: Object = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    if options := delete_options(uid, None, None, grace_seconds):
        body["deleteOptions"] = options
    await client.create_subresource("v1", "Pod", name, "eviction", body, namespace, dry_run=dry_run)


async def logs(
    client: Client,
    name: str,
    namespace: str,
    *,
    container: str | None = None,
    tail: int | None = None,
    previous: bool = False,
    limit_bytes: int | None = None,
) -> str:
    query = _query(container, tail, previous, limit_bytes)
    path = await _path(client, name, namespace)
    written = await client.raw("GET", path, query=query, subject=_subject(name, namespace))
    return written.decode(errors="replace")


async def follow_logs(
    client: Client,
    name: str,
    namespace: str,
    *,
    container: str | None = None,
    tail: int | None = None,
    idle: float | None = None,
) -> AsyncGenerator[str, None]:
    """Lines as they are written, until the container ends. A pod may be silent; `idle` is yours."""
    query = _query(container, tail, False, None) | {"follow": "true"}
    path = await _path(client, name, namespace)
    subject = _subject(name, namespace)
    async with client.stream(path, query=query, subject=subject, idle=idle) as chunks:
        async for line in text_lines(chunks):
            yield line


def _subject(name: str, namespace: str) -> str:
    return subject_of("read the logs of", "Pod", namespace, name)


async def _path(client: Client, name: str, namespace: str) -> str:
    return (await client.discovery.find("v1", "Pod")).url(namespace, name, "log")


def _query(
    container: str | None, tail: int | None, previous: bool, limit_bytes: int | None
) -> dict[str, str]:
    named = {
        "container": container,
        "tailLines": None if tail is None else str(tail),
        "previous": "true" if previous else None,
        "limitBytes": None if limit_bytes is None else str(limit_bytes),
    }
    return {name: value for name, value in named.items() if value is not None}
