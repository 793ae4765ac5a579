"""Kinds are asked for once, and again only when one is unknown."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from quiver.kube import NotFound
from quiver.kube.discovery import Discovery
from quiver.kube.resource import Resource
from unit.kube.fake_api import CORE


class Paths:
    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    async def __call__(self, path: str) -> bytes:
        self.asked.append(path)
        await asyncio.sleep(0)
        return json.dumps(self.answers[path]).encode()


GROUPS = {
    "/api": {"versions": ["v1"]},
    "/apis": {
        "groups": [
            {
                "name": "autoscaling",
                "versions": [{"version": "v2"}, {"version": "v1"}],
                "preferredVersion": {"version": "v2"},
            }
        ]
    },
}


async def test_many_who_ask_at_once_cause_one_question() -> None:
    paths = Paths({"/api/v1": CORE})
    discovery = Discovery(paths)
    await asyncio.gather(*(discovery.find("v1", "Pod") for _ in range(20)))
    assert paths.asked == ["/api/v1"]


async def test_an_unknown_kind_costs_one_question_each_time_and_a_known_one_none() -> None:
    paths = Paths({"/api/v1": CORE})
    discovery = Discovery(paths)
    for _ in range(2):
        with pytest.raises(NotFound, match="the server has no kind Ghost in v1"):
            await discovery.find("v1", "Ghost")
        await discovery.find("v1", "Pod")
    assert paths.asked == ["/api/v1"] * 2


async def test_a_forgotten_group_version_is_asked_for_again() -> None:
    paths = Paths({"/api/v1": CORE})
    discovery = Discovery(paths)
    await discovery.find("v1", "Pod")
    discovery.forget("v1")
    await discovery.find("v1", "Pod")
    assert len(paths.asked) == 2


async def test_a_resource_knows_its_verbs_short_names_and_subresources() -> None:
    kinds = await Discovery(Paths({"/api/v1": CORE})).kinds("v1")
    assert kinds["ConfigMap"].verbs == {"get", "list"}
    assert kinds["Pod"].short_names == ("po",)
    assert kinds["Pod"].subresources == {"log"}
    assert set(kinds) == {"ConfigMap", "Pod", "Node"}


async def test_the_preferred_version_is_the_server_s() -> None:
    discovery = Discovery(Paths(GROUPS))
    assert [group.name for group in await discovery.groups()] == ["", "autoscaling"]
    assert await discovery.preferred_version("autoscaling") == "autoscaling/v2"
    assert await discovery.preferred_version("") == "v1"
    with pytest.raises(NotFound, match="no API group 'ghosts'"):
        await discovery.preferred_version("ghosts")


PODS = Resource(path="/api/v1", plural="pods", kind="Pod", namespaced=True)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb", "a?x=y", "a#b"])
def test_a_name_that_would_lead_to_another_path_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        PODS.url("mine", name)
    with pytest.raises(ValueError, match="cannot be the name"):
        PODS.url(name, "a")


def test_a_path_has_the_namespace_only_where_the_kind_has_one() -> None:
    nodes = Resource(path="/api/v1", plural="nodes", kind="Node", namespaced=False)
    assert nodes.url("mine", "n", "status") == "/api/v1/nodes/n/status"
    assert PODS.url("mine", "p") == "/api/v1/namespaces/mine/pods/p"
    assert PODS.url(None, None) == "/api/v1/pods"
