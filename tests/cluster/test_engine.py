"""What the engine promises to every controller, shown with one that misbehaves on request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from quiver import sdk
from quiver.devcluster.handle import DevCluster
from quiver.engine.children import Children, Parent
from quiver.engine.installing.definitions import definition, settle
from quiver.engine.kinds import Key, kind_of
from quiver.kube import Client, Object
from quiver.testing import Options, running, until

Story = Callable[["Note", sdk.Turn["Note"]], Awaitable[sdk.Outcome]]


class Spec(sdk.Fields):
    text: str = ""


@sdk.resource(group="engine.example.com", version="v1")
class Note(sdk.Resource):
    """Something to reconcile."""

    spec: Spec = Spec()
    status: sdk.Status = sdk.Status()


@sdk.resource(group="engine.example.com", version="v1")
class Late(sdk.Resource):
    """A kind whose definition comes late, or from somebody else."""

    spec: Spec = Spec()
    status: sdk.Status = sdk.Status()


NOTE = kind_of(Note)


class NoteController(sdk.Controller[Note]):
    name = "note"
    resource = Note
    owns = (sdk.CONFIG_MAP,)
    owned_formerly = (sdk.SERVICE,)
    timeout = 0.5

    def __init__(self, story: Story) -> None:
        self.story = story

    async def reconcile(self, note: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
        return await self.story(note, turn)


class LateController(sdk.Controller[Late]):
    name = "late"
    resource = Late

    async def reconcile(self, late: Late, turn: sdk.Turn[Late]) -> sdk.Outcome:  # noqa: ARG002
        turn.report(
            sdk.Status(conditions=[sdk.Condition(type="Ready", status="True", reason="Ok")])
        )
        return None


@pytest.fixture(autouse=True)
async def _served(api_client: Client) -> None:
    await settle(api_client, [NoteController], install=True)


def note(namespace: str, name: str, text: str = "") -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": NOTE.api_version, "kind": "Note", "metadata": metadata,
        "spec": {"text": text},
    }  # fmt: skip


async def told(client: Client, namespace: str, name: str, kind: str, words: str) -> Object:
    """The condition of that kind, once its message has these words."""
    found: list[Object] = []

    async def missing() -> str | None:
        obj = await client.get(NOTE.api_version, "Note", name, namespace)
        conditions = obj.get("status", {}).get("conditions", [])
        found[:] = [it for it in conditions if it["type"] == kind and words in it["message"]]
        return None if found else f"{kind} does not say {words!r}: {conditions}"

    await until(missing, within=30)
    return found[0]


async def fine(_: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
    condition = sdk.Condition(type="Ready", status="True", reason="Fine", message="all is well")
    turn.report(sdk.Status(conditions=[condition]))
    return None


async def test_a_reconcile_that_hangs_is_ended_told_and_keeps_nobody_waiting(
    api_client: Client, namespace: str
) -> None:
    async def story(it: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
        if it.spec.text == "hang":
            await asyncio.Event().wait()
        return await fine(it, turn)

    await api_client.create(note(namespace, "hangs", "hang"))
    await api_client.create(note(namespace, "works"))
    options = Options(namespaces=(namespace,))
    async with running(api_client.config, [NoteController(story)], options):
        await told(api_client, namespace, "works", "Ready", "all is well")
        await told(api_client, namespace, "hangs", "Degraded", "took longer than 0.5 s")
        await api_client.apply(note(namespace, "hangs", "no more"), force=True)
        await told(api_client, namespace, "hangs", "Ready", "all is well")


async def test_an_unexpected_error_is_told_without_what_it_choked_on_and_tried_again(
    api_client: Client, namespace: str
) -> None:
    attempts: list[int] = []

    async def story(it: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
        attempts.append(len(attempts))
        if len(attempts) < 6:
            raise KeyError("hunter2")
        return await fine(it, turn)

    await api_client.create(note(namespace, "a"))
    async with running(
        api_client.config, [NoteController(story)], Options(namespaces=(namespace,))
    ):
        await told(api_client, namespace, "a", "Ready", "all is well")
    events = await api_client.list("events.k8s.io/v1", "Event", namespace)
    words = " ".join(event["note"] for event in events)
    assert "KeyError" in words
    assert "hunter2" not in words


async def test_children_of_kinds_that_are_owned_no_more_are_taken_away(
    api_client: Client, namespace: str
) -> None:
    owner = await api_client.create(note(namespace, "a"))
    reference = {
        "apiVersion": NOTE.api_version, "kind": "Note", "name": "a", "controller": True,
        "uid": owner["metadata"]["uid"],
    }  # fmt: skip
    service = {
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "a", "namespace": namespace, "ownerReferences": [reference]},
        "spec": {"ports": [{"port": 80}]},
    }  # fmt: skip
    await api_client.create(service)

    async def story(it: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
        await turn.ensure([sdk.child(it, sdk.CONFIG_MAP, data={"text": it.spec.text})])
        return await fine(it, turn)

    async def left() -> str | None:
        return str(await api_client.list("v1", "Service", namespace) or "") or None

    async with running(
        api_client.config, [NoteController(story)], Options(namespaces=(namespace,))
    ):
        await until(left, within=30)
        assert [it["data"] for it in await api_client.list("v1", "ConfigMap", namespace)]


async def test_a_reconcile_in_work_is_finished_before_the_process_ends(
    api_client: Client, namespace: str
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def story(it: Note, turn: sdk.Turn[Note]) -> sdk.Outcome:
        begun.set()
        await may_end.wait()
        return await fine(it, turn)

    controller = NoteController(story)
    controller.timeout = 30  # type: ignore[misc]
    await api_client.create(note(namespace, "a"))
    async with running(api_client.config, [controller], Options(namespaces=(namespace,))):
        await begun.wait()
        asyncio.get_running_loop().call_later(0.3, may_end.set)
    await told(api_client, namespace, "a", "Ready", "all is well")


async def test_a_controller_waits_for_its_definition_while_the_others_run(
    api_client: Client, namespace: str
) -> None:
    await api_client.create(note(namespace, "a"))
    options = Options(namespaces=(namespace,), install_crds=False)
    async with running(api_client.config, [NoteController(fine), LateController()], options):
        await told(api_client, namespace, "a", "Ready", "all is well")
        await api_client.create(definition(Late))

        async def unserved() -> str | None:
            try:
                await api_client.create(
                    {
                        "apiVersion": NOTE.api_version,
                        "kind": "Late",
                        "metadata": {"name": "a", "namespace": namespace},
                    }
                )
            except Exception as error:
                return str(error)
            return None

        await until(unserved, within=30)

        async def unready() -> str | None:
            obj = await api_client.get(NOTE.api_version, "Late", "a", namespace)
            return None if obj.get("status", {}).get("conditions") else "no status yet"

        await until(unready, within=30)


async def test_somebody_elses_definition_turns_its_controller_off_and_nothing_else(
    own_api_server: DevCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async with own_api_server.client() as client:
        await own_api_server.make_namespace(client, "off")
        await settle(client, [NoteController], install=True)
        theirs = definition(Late)
        del theirs["metadata"]["labels"]
        theirs["spec"]["names"]["shortNames"] = ["theirs"]
        before = await client.create(theirs)
        await client.create(note("off", "a"))
        with caplog.at_level(logging.INFO):
            async with running(
                client.config,
                [NoteController(fine), LateController()],
                Options(namespaces=("off",)),
            ):
                await told(client, "off", "a", "Ready", "all is well")
        name = before["metadata"]["name"]
        after = await client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
    assert after["spec"] == before["spec"]
    assert f"--take-over-crds={name}" in caplog.text


async def test_a_child_in_another_namespace_is_found_by_its_inventory(
    api_client: Client, namespace: str
) -> None:
    """What no owner reference can express carries a label with the owner's uid."""
    owned = Children(
        api_client, {}, Parent(NOTE, Key("elsewhere", "a"), "uid-1"), by=object()
    )._owned({"metadata": {"name": "x", "namespace": namespace}})
    assert owned["metadata"]["labels"] == {"quiver.dev/owner": "uid-1"}
    assert owned["metadata"]["annotations"] == {
        "quiver.dev/owner-key": "Note.engine.example.com elsewhere/a"
    }
