"""Events on the real API server: its validation, its namespaces, and what kubectl shows."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from quiver.devcluster.handle import DevCluster
from quiver.devcluster.waiting import until
from quiver.engine.recording.events import Recorder, Regarding, regarding
from quiver.kube import Client, KubeConfig, NotFound, Object
from quiver.kube.faults import Faults, lose_answer, method

CONTROLLER = "quiver.dev/site"


async def config_map(client: Client, namespace: str, name: str = "web") -> Object:
    metadata = {"name": name, "namespace": namespace}
    return await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def events_in(client: Client, namespace: str) -> list[Object]:
    return await client.list("events.k8s.io/v1", "Event", namespace)


def recorder(client: Client) -> Recorder:
    return Recorder(client, controller=CONTROLLER, instance="quiver-0")


async def test_an_event_is_on_the_server_when_the_recorder_has_stopped(
    api_client: Client, namespace: str
) -> None:
    web = await config_map(api_client, namespace)
    async with recorder(api_client) as events:
        events.record(regarding(web), "Normal", "RolledOut", "All replicas run 1.2", "RollOut")
    [event] = await events_in(api_client, namespace)
    assert event["note"] == "All replicas run 1.2"
    assert event["regarding"]["uid"] == web["metadata"]["uid"]
    assert event["reportingController"] == CONTROLLER
    assert "series" not in event
    assert events.counts.written == 1
    assert not events.counts.dropped


async def test_repetitions_become_one_series(api_client: Client, namespace: str) -> None:
    web = await config_map(api_client, namespace)
    async with recorder(api_client) as events:
        events.record(regarding(web), "Warning", "Failed", "No bucket", "BackUp")
        await written(events, 1)
        events.record(regarding(web), "Warning", "Failed", "No bucket", "BackUp")
        await written(events, 2)
        for _ in range(5):
            events.record(regarding(web), "Warning", "Failed", "No bucket", "BackUp")
    [event] = await events_in(api_client, namespace)
    assert event["series"]["count"] == 7
    assert events.counts.written == 3


async def test_describe_shows_an_event_and_how_often_it_happened(
    api_client: Client, api_server: DevCluster, namespace: str
) -> None:
    web = await config_map(api_client, namespace)
    async with recorder(api_client) as events:
        for _ in range(3):
            events.record(regarding(web), "Warning", "Failed", "No bucket", "BackUp")
    described = await asyncio.to_thread(
        api_server.kubectl, "describe", "configmap", "web", f"--namespace={namespace}"
    )
    shown = described.partition("Events:")[2]
    assert "Warning" in shown
    assert "(x3 over" in shown
    assert CONTROLLER in shown
    assert "No bucket" in shown


async def test_events_of_cluster_scoped_objects_are_in_default_and_described(
    api_client: Client, api_server: DevCluster, namespace: str
) -> None:
    itself = await api_client.get("v1", "Namespace", namespace)
    async with recorder(api_client) as events:
        events.record(regarding(itself), "Normal", "Seen", f"Saw {namespace}", "Look")
    notes = [event["note"] for event in await events_in(api_client, "default")]
    assert f"Saw {namespace}" in notes
    described = await asyncio.to_thread(
        api_server.kubectl, "get", "events", f"--field-selector=involvedObject.name={namespace}"
    )
    assert f"Saw {namespace}" in described


async def test_the_longest_texts_that_are_kept_are_accepted(
    api_client: Client, namespace: str
) -> None:
    web = await config_map(api_client, namespace, name="w" * 253)
    async with recorder(api_client) as events:
        events.record(regarding(web), "Normal", "é" * 200, "ü" * 2000, "ß" * 200)
        events.record(regarding(web), "Normal", "", "\ud800 is no character", "")
    assert events.counts.written == 2
    notes = {len(event["note"].encode()) for event in await events_in(api_client, namespace)}
    assert max(notes) in (1023, 1024)


async def test_objects_with_names_that_events_may_not_have_get_events(
    api_client: Client, namespace: str
) -> None:
    about = Regarding("rbac.authorization.k8s.io/v1", "Role", namespace, "system:Odd_Name")
    async with recorder(api_client) as events:
        events.record(about, "Normal", "Seen", "It has a name", "Look")
    assert events.counts.written == 1


async def test_an_event_that_the_server_forgot_is_created_again_with_its_count(
    api_client: Client, namespace: str
) -> None:
    web = await config_map(api_client, namespace)
    async with recorder(api_client) as events:
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
        await written(events, 1)
        await api_client.delete_collection("events.k8s.io/v1", "Event", namespace)
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
    [event] = await events_in(api_client, namespace)
    assert event["series"]["count"] == 2


async def test_a_lost_answer_does_not_double_an_event(
    api_server: DevCluster, api_client: Client, namespace: str
) -> None:
    web = await config_map(api_client, namespace)
    faults = Faults()
    faults.add(lose_answer, when=method("POST"))
    config = KubeConfig.load(api_server.kubeconfig)
    async with Client(config, interceptor=faults) as client, recorder(client) as events:
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
        await written(events, 1)
    assert len(await events_in(api_client, namespace)) == 1
    assert not events.counts.dropped


async def test_a_namespace_that_ends_drops_events_in_silence(
    api_client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    web = await config_map(api_client, namespace)
    await api_client.delete("v1", "Namespace", namespace)
    async with recorder(api_client) as events:
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
    assert events.counts.dropped == {"refused": 1}
    assert not caplog.records


async def test_a_namespace_that_is_gone_drops_events_in_silence(
    api_client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(NotFound):
        await api_client.get("v1", "Namespace", f"{namespace}-gone")
    about = Regarding("v1", "ConfigMap", f"{namespace}-gone", "web")
    async with recorder(api_client) as events:
        events.record(about, "Normal", "Seen", "It is there", "Look")
        await refused(events)
        events.record(about, "Normal", "Seen", "It is there", "Look")
    assert events.counts.dropped == {"refused": 2}
    assert not caplog.records


async def test_a_series_is_patched_again_only_when_its_time_has_come(
    api_client: Client, namespace: str
) -> None:
    web = await config_map(api_client, namespace)
    at = datetime.now(UTC)
    async with Recorder(
        api_client, controller=CONTROLLER, instance="quiver-0", now=lambda: at
    ) as events:
        for _ in range(2):
            events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
        await written(events, 1)
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
        at += timedelta(minutes=5)
        events.record(regarding(web), "Normal", "Seen", "It is there", "Look")
        await written(events, 2)
        [event] = await events_in(api_client, namespace)
    assert event["series"]["count"] == 4
    assert events.counts.written == 2


async def written(events: Recorder, times: int) -> None:
    await until(lambda: _missing(events.counts.written >= times, "written"), within=10, every=0.02)


async def refused(events: Recorder) -> None:
    await until(
        lambda: _missing(events.counts.dropped["refused"] > 0, "refused"), within=10, every=0.02
    )


async def _missing(happened: bool, what: str) -> str | None:
    return None if happened else f"no Event was {what}"
