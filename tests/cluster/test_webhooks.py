"""Admission webhooks, asked by a real API server."""

import asyncio
import base64
import itertools
import logging
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.controller import Controller, Object, Refusal
from quiver.engine.crd import Fields, Resource, crd_manifest, resource
from quiver.engine.installing.grants import policy_rules
from quiver.engine.installing.rbac import rights_of
from quiver.engine.kinds import SECRET
from quiver.engine.outcome import Outcome
from quiver.engine.webhooks.answering import Answering
from quiver.engine.webhooks.certificates import issued
from quiver.engine.webhooks.configurations import MUTATING, VALIDATING
from quiver.engine.webhooks.rotation import Keyring
from quiver.engine.webhooks.serving import RECHECK, SECRET_NAME, Webhooks
from quiver.engine.webhooks.shared_keyring import keyring_in, secret_with
from quiver.kube import Client, Impersonation, Invalid, NotFound

SETTLE = timedelta(seconds=2)


class ShopSpec(Fields):
    tables: int = 1
    seats: int = 4
    owner: str = ""
    greeting: str | None = None


class ShopStatus(Fields):
    guests: int = 0


class Shop(Resource):
    spec: ShopSpec
    status: ShopStatus = ShopStatus()


class ShopController(Controller[Shop]):
    """Seats have to be spread evenly, an owner stays, and a greeting is made up."""

    name = "shop"

    def __init__(self, kind: type[Shop]) -> None:
        self.resource = kind

    async def reconcile(self, obj: Shop, turn: Any) -> Outcome:
        raise NotImplementedError

    def validate(self, new: Shop, old: Shop | None) -> Iterable[Refusal]:
        if new.spec.seats % new.spec.tables:
            yield Refusal("spec.seats", f"{new.spec.seats} seats do not fit the tables")
        if old and old.spec.owner != new.spec.owner:
            yield Refusal("spec.owner", f"stays {old.spec.owner}")

    def default(self, obj: Object) -> Object:
        obj["spec"].setdefault("greeting", f"Welcome to {obj['metadata']['name']}")
        return obj


@dataclass(kw_only=True)
class Town:
    """Shops in one namespace, and webhooks that watch over them."""

    client: Client
    kind: type[Shop]
    namespace: str
    port: int
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    recheck: float = RECHECK

    def webhooks(self, *, port: int = 0, client: Client | None = None) -> Webhooks:
        return Webhooks(
            client or self.client,
            [ShopController(self.kind)],
            namespace=self.namespace,
            url=f"https://127.0.0.1:{self.port}",
            bind=("127.0.0.1", port or self.port),
            now=self.now,
            settle=SETTLE,
            recheck=self.recheck,
        )

    @property
    def names(self) -> str:
        return f"quiver-{self.namespace}"

    def shop(self, name: str, **spec: Any) -> Object:
        definition = self.kind.definition
        return {
            "apiVersion": definition.api_version,
            "kind": definition.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }

    async def open(self, name: str, **spec: Any) -> Object:
        return await self.client.create(self.shop(name, **spec))

    async def change(self, name: str, patch: Object) -> Object:
        definition = self.kind.definition
        return await self.client.patch(
            definition.api_version, definition.kind, name, patch, self.namespace
        )

    async def close(self, name: str) -> None:
        definition = self.kind.definition
        await self.client.delete(definition.api_version, definition.kind, name, self.namespace)

    async def secret(self) -> Object:
        return await self.client.get("v1", "Secret", SECRET_NAME, self.namespace)

    async def bundles(self) -> list[bytes]:
        found = []
        for kind in (VALIDATING, MUTATING):
            live = await self.client.get(kind.api_version, kind.name, self.names)
            found += [base64.b64decode(it["clientConfig"]["caBundle"]) for it in live["webhooks"]]
        return found

    async def until_asked(self) -> None:
        """The API server learns of a configuration in its own time."""

        async def silent() -> str | None:
            good = await self.client.create(self.shop("probe"), dry_run=True)
            if "greeting" not in good["spec"]:
                return "the API server does not ask for defaults yet"
            with suppress(Invalid):
                await self.client.create(self.shop("probe", tables=3), dry_run=True)
                return "the API server does not ask for validation yet"
            return None

        await until(silent, within=20, every=0.05)


@asynccontextmanager
async def running(webhooks: Webhooks) -> AsyncIterator[Webhooks]:
    task = asyncio.create_task(webhooks.run())
    try:
        yield webhooks
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kind(api_server: DevCluster) -> type[Shop]:
    group = f"t{uuid.uuid4().hex[:10]}.webhooks.quiver.dev"

    @resource(group=group, version="v1", kind="Shop")
    class OurShop(Shop):
        pass

    manifest = crd_manifest(OurShop)
    async with api_server.client() as client:
        await client.apply(manifest)

        async def not_served() -> str | None:
            await client.json("GET", f"/apis/{OurShop.definition.api_version}/shops")
            return None

        await until(not_served, within=60, every=0.1)
    return OurShop


@pytest.fixture
async def town(api_client: Client, kind: type[Shop], namespace: str) -> AsyncIterator[Town]:
    town = Town(client=api_client, kind=kind, namespace=namespace, port=a_free_port())
    yield town
    for configured in (VALIDATING, MUTATING):
        await api_client.delete(
            configured.api_version, configured.name, town.names, missing_ok=True
        )


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def test_a_bad_object_is_refused_with_the_path_of_its_field(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        with pytest.raises(Invalid, match=r"spec\.seats: 4 seats do not fit the tables") as refused:
            await town.open("uneven", tables=3)
    assert refused.value.status == 422
    assert [(it.field, it.reason) for it in refused.value.causes] == [
        ("spec.seats", "FieldValueInvalid")
    ]


async def test_a_good_object_is_stored_as_its_controller_wants_it(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        made = await town.open("even", tables=2)
    assert made["spec"] == {
        "tables": 2, "seats": 4, "owner": "", "greeting": "Welcome to even",
    }  # fmt: skip


async def test_an_update_is_judged_beside_what_was_stored(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        await town.open("owned", owner="ann")
        with pytest.raises(Invalid, match=r"spec\.owner: stays ann"):
            await town.change("owned", {"spec": {"owner": "bob"}})
        changed = await town.change("owned", {"spec": {"seats": 8}})
    assert changed["spec"]["seats"] == 8


async def test_while_the_server_is_down_objects_can_be_made_and_deleted(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
    await town.open("uneven", tables=3)
    await town.close("uneven")


async def test_what_was_let_in_meanwhile_can_be_labelled_repaired_and_let_go(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
    await town.open("uneven", tables=3, owner="ann")
    async with running(town.webhooks()):
        await town.until_asked()
        await town.change("uneven", {"metadata": {"labels": {"a": "b"}, "finalizers": ["x.io/y"]}})
        with pytest.raises(Invalid, match="5 seats do not fit"):
            await town.change("uneven", {"spec": {"seats": 5}})
        await town.close("uneven")
        await town.change("uneven", {"metadata": {"finalizers": None}})
        with pytest.raises(NotFound):
            await town.close("uneven")


async def test_a_status_is_written_without_asking(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
    await town.open("uneven", tables=3)
    async with running(town.webhooks()):
        await town.until_asked()
        definition = town.kind.definition
        written = await town.client.patch(
            definition.api_version, definition.kind, "uneven", {"status": {"guests": 3}},
            town.namespace, subresource="status",
        )  # fmt: skip
    assert written["status"] == {"guests": 3}
    assert "greeting" not in written["spec"]


async def test_settled_webhooks_write_nothing(town: Town) -> None:
    async with running(town.webhooks()) as webhooks:
        await town.until_asked()
        before = await versions(town)
        for _ in range(3):
            await webhooks.ensure()
        assert await versions(town) == before
    async with running(town.webhooks()) as webhooks:
        await until_ready(webhooks)
        await webhooks.ensure()
        assert await versions(town) == before


async def test_a_rotation_misses_no_object(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    hang_up_after_each_answer(monkeypatch)
    age = timedelta(days=70)
    town.now, town.recheck = (lambda: datetime.now(UTC) - age), 0.1
    async with running(town.webhooks()):
        await town.until_asked()
        old = await keyring_of(town)
        async with opening_shops(town) as opened:
            age = timedelta()
            await until_rotated(town, old)
            enough = len(opened) + 20
            await until(lambda: fewer_than(enough, opened), within=20, every=0.05)
        new = await keyring_of(town)
    assert new.served != old.served
    assert await town.bundles() == [new.bundle, new.bundle]
    assert set(new.trusted).isdisjoint(old.trusted)
    assert [it["metadata"]["name"] for it in opened if "greeting" not in it["spec"]] == []


@asynccontextmanager
async def opening_shops(town: Town) -> AsyncIterator[list[Object]]:
    """A few at a time, all the time."""
    opened: list[Object] = []

    async def keep_opening(street: str) -> None:
        numbers = itertools.count()
        while True:
            opened.append(await town.open(f"{street}-{next(numbers)}"))

    tasks = [asyncio.create_task(keep_opening(street)) for street in ("oak", "elm", "ash")]
    yield opened
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError)


def hang_up_after_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open connection outlives its certificate; without one, every review checks it."""
    answer = Answering.answer

    async def answer_once(self: Answering, request: web.Request) -> web.Response:
        response = await answer(self, request)
        response.force_close()
        return response

    monkeypatch.setattr(Answering, "answer", answer_once)


async def fewer_than(enough: int, opened: list[Object]) -> str | None:
    return None if len(opened) >= enough else f"only {len(opened)} shops of {enough} were opened"


async def until_rotated(town: Town, old: Keyring) -> None:
    async def unfinished() -> str | None:
        keyring = await keyring_of(town)
        if keyring.served == old.served:
            return "the old certificate is still served"
        if len(keyring.trusted) > 1:
            return "the old authority is still trusted"
        bundles = await town.bundles()
        return None if set(bundles) == {keyring.bundle} else "the configurations are behind"

    await until(unfinished, within=60, every=0.1)


async def keyring_of(town: Town) -> Keyring:
    keyring = keyring_in(await town.secret())
    assert keyring is not None
    return keyring


async def test_two_replicas_that_start_together_serve_one_certificate(
    town: Town, api_server: DevCluster
) -> None:
    other_port = a_free_port()
    async with (
        api_server.client() as other_client,
        running(town.webhooks()) as one,
        running(town.webhooks(port=other_port, client=other_client)) as other,
    ):
        await until_ready(one, other)
        shown = {await certificate_at(town.port), await certificate_at(other_port)}
        keyring = await keyring_of(town)
        assert shown == {ssl.PEM_cert_to_DER_cert(keyring.served.certificate.decode())}
        await until(lambda: not_trusted(town, keyring), within=10, every=0.05)


async def test_two_replicas_walk_through_a_rotation_together(
    town: Town, api_server: DevCluster
) -> None:
    age = timedelta(days=70)
    town.now, town.recheck = (lambda: datetime.now(UTC) - age), 0.1
    other_port = a_free_port()
    async with (
        api_server.client() as other_client,
        running(town.webhooks()) as one,
        running(town.webhooks(port=other_port, client=other_client)) as other,
    ):
        await until_ready(one, other)
        old = await keyring_of(town)
        age = timedelta()
        await until_rotated(town, old)
        new = await keyring_of(town)
        shown = {await certificate_at(town.port), await certificate_at(other_port)}
        assert shown == {ssl.PEM_cert_to_DER_cert(new.served.certificate.decode())}


async def test_a_deleted_secret_comes_back_as_it_was(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        before = await town.secret()
        await town.client.delete("v1", "Secret", SECRET_NAME, town.namespace)
        await until(lambda: nothing_missing(town.secret()), within=10, every=0.05)
        assert (await town.secret())["data"] == before["data"]


async def nothing_missing(read: Awaitable[Object]) -> str | None:
    await read
    return None


async def test_a_broken_secret_is_mended_with_what_is_served(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        before = await town.secret()
        broken = {"data": {"tls.key": base64.b64encode(b"nonsense").decode()}}
        await town.client.patch("v1", "Secret", SECRET_NAME, broken, town.namespace)
        await until(lambda: still_broken(town, before), within=10, every=0.05)


async def still_broken(town: Town, before: Object) -> str | None:
    return None if (await town.secret())["data"] == before["data"] else "the Secret is broken"


async def test_a_changed_bundle_and_a_stricter_policy_are_undone(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
        keyring = await keyring_of(town)
        stranger = issued(["127.0.0.1"], now=datetime.now(UTC))[0]
        live = await town.client.get(VALIDATING.api_version, VALIDATING.name, town.names)
        live["webhooks"][0]["failurePolicy"] = "Fail"
        live["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(stranger).decode()
        await town.client.replace(live)
        await until(lambda: not_trusted(town, keyring), within=10, every=0.05)
        live = await town.client.get(VALIDATING.api_version, VALIDATING.name, town.names)
        assert live["webhooks"][0]["failurePolicy"] == "Ignore"


async def not_trusted(town: Town, keyring: Keyring) -> str | None:
    return None if set(await town.bundles()) == {keyring.bundle} else "another bundle is trusted"


async def test_a_selector_that_somebody_set_stays(town: Town) -> None:
    async with running(town.webhooks()) as webhooks:
        await town.until_asked()
        live = await town.client.get(MUTATING.api_version, MUTATING.name, town.names)
        selector = {"matchLabels": {"shops": "allowed"}}
        live["webhooks"][0]["namespaceSelector"] = selector
        live["webhooks"][0]["timeoutSeconds"] = 30
        await town.client.replace(live)
        await webhooks.ensure()
        live = await town.client.get(MUTATING.api_version, MUTATING.name, town.names)
        assert live["webhooks"][0]["namespaceSelector"] == selector
        assert live["webhooks"][0]["timeoutSeconds"] == 5


async def test_configurations_go_when_no_controller_needs_them(town: Town) -> None:
    async with running(town.webhooks()):
        await town.until_asked()
    await Webhooks(town.client, [], namespace=town.namespace).run()
    for configured in (VALIDATING, MUTATING):
        with pytest.raises(NotFound):
            await town.client.get(configured.api_version, configured.name, town.names)


async def test_without_rights_the_operator_says_so_and_goes_on(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = town.client.impersonating(Impersonation(user="nobody"))
    webhooks = town.webhooks(client=nobody)
    await webhooks.ensure()
    assert webhooks.ready() is None
    [record] = caplog.records
    assert "403 Forbidden" in record.message
    assert "checked at the reconcile only" in record.message
    await webhooks.ensure()
    assert len(caplog.records) == 1


async def test_the_rights_that_the_operator_asks_for_are_enough(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    operator = f"operator-of-{town.namespace}"
    await grant(town, operator)
    age = timedelta(days=70)
    town.now, town.recheck = (lambda: datetime.now(UTC) - age), 0.1
    limited = town.client.impersonating(Impersonation(user=operator))
    await until(lambda: not_granted(town, limited), within=20, every=0.05)
    caplog.set_level(logging.INFO, "quiver.engine.webhooks")
    async with running(town.webhooks(client=limited)):
        await town.until_asked()
        await town.client.delete("v1", "Secret", SECRET_NAME, town.namespace)
        await until(lambda: nothing_missing(town.secret()), within=10, every=0.05)
        old = await keyring_of(town)
        age = timedelta()
        await until_rotated(town, old)
    await Webhooks(limited, [], namespace=town.namespace).run()
    with pytest.raises(NotFound):
        await town.client.get(VALIDATING.api_version, VALIDATING.name, town.names)
    assert caplog.records == []


async def not_granted(town: Town, limited: Client) -> str | None:
    """The API server learns of roles in its own time, too."""
    for kind, namespace in ((SECRET, town.namespace), (VALIDATING, None), (MUTATING, None)):
        name = SECRET_NAME if kind is SECRET else town.names
        with suppress(NotFound):
            await limited.get(kind.api_version, kind.name, name, namespace)
    return None


async def grant(town: Town, user: str) -> None:
    """Through a ClusterRole for the configurations and a Role for the Secret."""

    class OurController(ShopController):
        resource = town.kind

    rights = rights_of(OurController, town.namespace)
    rbac = "rbac.authorization.k8s.io"
    for scope, granted in (("ClusterRole", rights.admission), ("Role", rights.certificate)):
        metadata = {"name": user} | ({"namespace": town.namespace} if scope == "Role" else {})
        role = {"apiVersion": f"{rbac}/v1", "kind": scope, "metadata": metadata}
        await town.client.create(role | {"rules": policy_rules(granted)})
        bound = {
            "apiVersion": f"{rbac}/v1",
            "kind": f"{scope}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": scope, "name": user},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
        }
        await town.client.create(bound)


async def test_somebodys_own_certificate_is_served_and_never_written(town: Town) -> None:
    authority, pair = issued(["127.0.0.1"], now=datetime.now(UTC) - timedelta(days=70))
    secret = secret_with(Keyring(trusted=(authority,), served=pair), town.namespace, SECRET_NAME)
    del secret["metadata"]["labels"]
    before = await town.client.create(secret)
    async with running(town.webhooks()) as webhooks:
        await town.until_asked()
        await webhooks.ensure()
    assert await town.secret() == before
    assert await town.bundles() == [authority, authority]


async def test_somebodys_own_secret_that_cannot_serve_is_reported(town: Town) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"password": "aGk="}}
    before = await town.client.create(
        secret | {"metadata": {"name": SECRET_NAME, "namespace": town.namespace}}
    )
    webhooks = town.webhooks()
    await webhooks.ensure()
    assert await town.secret() == before
    problem = webhooks.ready() or ""
    assert f"{town.namespace}/{SECRET_NAME} is not Quiver's" in problem
    assert "delete it to have one made" in problem


async def versions(town: Town) -> list[str]:
    live = [
        await town.secret(),
        await town.client.get(VALIDATING.api_version, VALIDATING.name, town.names),
        await town.client.get(MUTATING.api_version, MUTATING.name, town.names),
    ]
    return [it["metadata"]["resourceVersion"] for it in live]


async def until_ready(*webhooks: Webhooks) -> None:
    async def unready() -> str | None:
        return next((problem for it in webhooks if (problem := it.ready())), None)

    await until(unready, within=20, every=0.02)


async def certificate_at(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return shown
