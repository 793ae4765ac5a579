"""An operator for VecodexSets on kopf: `kopf run --standalone -A operator.py`.

kopf has no cache of children and no server-side apply, so this does what a careful author would:
children are applied through one aiohttp session, and their own events bring them back. It does
not apply everything again when it resumes: the events of the first listing show what differs.
"""
# kopf lives in the peer's own environment, where no type checker looks.
# mypy: ignore-errors

import asyncio
import datetime
import json
import os
from pathlib import Path

import aiohttp
import kopf
from bench.peers.access import access
from bench.peers.children import children, status

AT_A_TIME = 16
APPLY = {"fieldManager": "kopf", "force": "true"}
HEADERS = {"Content-Type": "application/apply-patch+yaml"}
SETS = ("apps.vecodex.link", "v1alpha1", "vecodexsets")


@kopf.on.startup()
async def start(memo, settings, **_):
    settings.posting.enabled = False
    server, tls = access(Path(os.environ["KUBECONFIG"]))
    connector = aiohttp.TCPConnector(ssl=tls, limit=AT_A_TIME)
    memo.session = aiohttp.ClientSession(server, connector=connector, headers=HEADERS)


@kopf.on.cleanup()
async def end(memo, **_):
    await memo.session.close()


@kopf.index(*SETS)
async def sets(body, uid, **_):
    return {uid: json.loads(json.dumps(dict(body)))}


@kopf.on.create(*SETS)
@kopf.on.update(*SETS, field="spec")
async def ensure(body, memo, patch, **_):
    desired = children(body)
    await asyncio.gather(*(apply(memo.session, path, child) for path, child in desired))
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    patch.status.update(status(body, now))


@kopf.on.event("apps", "v1", "deployments")
@kopf.on.event("", "v1", "services")
@kopf.on.event("networking.k8s.io", "v1", "ingresses")
async def heal(event, body, memo, sets, **_):
    owner = next(
        (it for it in body.metadata.get("ownerReferences", []) if it.get("controller")), {}
    )
    for vecodex_set in sets.get(owner.get("uid"), ()):
        for path, child in children(vecodex_set):
            if is_same(child, body) and needs_apply(event, child, body):
                await apply(memo.session, path, child)


def is_same(child, body):
    return child["kind"] == body["kind"] and child["metadata"]["name"] == body.metadata.name


def needs_apply(event, child, body):
    return event["type"] == "DELETED" or not contains(body, child)


def contains(live, desired):
    """Whether all that is desired is there; the server may have added the rest."""
    if isinstance(desired, dict):
        return all(key in live and contains(live[key], value) for key, value in desired.items())
    if isinstance(desired, list):
        return len(live) == len(desired) and all(map(contains, live, desired))
    return live == desired


async def apply(session, path, child):
    async with session.patch(path, params=APPLY, data=json.dumps(child)) as answer:
        text = await answer.text()
        if answer.status not in (200, 201):
            raise kopf.TemporaryError(f"{path} was answered with {answer.status}: {text[:300]}", 1)
