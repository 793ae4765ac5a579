"""Webhook configurations, as they are written."""

import base64
import copy
from collections.abc import Iterable
from typing import Any

import pytest

from quiver.engine.controller import Controller, Object, Refusal
from quiver.engine.crd import Fields, Resource, Scope, Version, resource
from quiver.engine.outcome import Outcome
from quiver.engine.webhooks.configurations import Service, Url, configuration, must_apply
from quiver.engine.webhooks.endpoints import Endpoint, Verb
from quiver.engine.webhooks.serving import Webhooks
from quiver.kube import Client, KubeConfig

SERVICE = Service("quiver-system", "hooks")
WRITTEN_BY_THE_SERVER: Object = {"namespaceSelector": {}, "objectSelector": {}}


class LakeSpec(Fields):
    depth: int = 1


@resource(
    group="water.example.com",
    versions=["v2", "v1", Version("v0", served=False)],
    scope=Scope.CLUSTER,
)
class Lake(Resource):
    spec: LakeSpec


class LakeController(Controller[Lake]):
    name = "lake"
    resource = Lake

    async def reconcile(self, obj: Lake, turn: Any) -> Outcome:
        raise NotImplementedError

    def validate(self, new: Lake, old: Lake | None) -> Iterable[Refusal]:
        if old and old.spec.depth > new.spec.depth:
            yield Refusal("spec.depth", "a lake does not dry up")


def configured(verb: Verb = Verb.VALIDATE, *, to: Service | Url = SERVICE) -> Object:
    endpoints = [Endpoint(verb, LakeController())]
    return configuration(verb, endpoints, name="quiver", to=to, bundle=b"CA")


def webhook(verb: Verb = Verb.VALIDATE, *, to: Service | Url = SERVICE) -> Object:
    [only] = configured(verb, to=to)["webhooks"]
    assert isinstance(only, dict)
    return only


@pytest.mark.parametrize("verb", Verb)
def test_a_webhook_fails_open_and_never_guards_a_deletion_or_a_status(verb: Verb) -> None:
    found = webhook(verb)
    assert found["failurePolicy"] == "Ignore"
    assert found["sideEffects"] == "None"
    assert found["matchPolicy"] == "Equivalent"
    assert found["timeoutSeconds"] == 5
    assert found["rules"] == [
        {
            "apiGroups": ["water.example.com"],
            "apiVersions": ["v2", "v1"],
            "resources": ["lakes"],
            "operations": ["CREATE", "UPDATE"],
            "scope": "Cluster",
        }
    ]


def test_only_mutation_is_invoked_again() -> None:
    assert webhook(Verb.MUTATE)["reinvocationPolicy"] == "IfNeeded"
    assert "reinvocationPolicy" not in webhook(Verb.VALIDATE)


def test_a_service_is_named_and_its_certificate_is_for_that_name() -> None:
    assert webhook()["clientConfig"] == {
        "caBundle": base64.b64encode(b"CA").decode(),
        "service": {
            "namespace": "quiver-system",
            "name": "hooks",
            "path": "/validate/lakes.water.example.com",
            "port": 443,
        },
    }
    assert SERVICE.hosts[0] == "hooks.quiver-system.svc"


def test_a_url_is_given_with_its_path_and_its_certificate_is_for_its_host() -> None:
    url = Url("https://127.0.0.1:9443/")
    assert webhook(to=url)["clientConfig"]["url"] == (
        "https://127.0.0.1:9443/validate/lakes.water.example.com"
    )
    assert url.hosts == ("127.0.0.1",)


def as_stored() -> Object:
    live = copy.deepcopy(configured())
    live["webhooks"] = [it | WRITTEN_BY_THE_SERVER for it in live["webhooks"]]
    live["metadata"] |= {"resourceVersion": "1", "labels": live["metadata"]["labels"] | {"a": "b"}}
    return live


def test_what_the_server_and_others_add_needs_no_apply() -> None:
    assert not must_apply(as_stored(), configured())


def test_what_somebody_changes_adds_or_takes_away_needs_one() -> None:
    changed, unlabelled, more, fewer = as_stored(), as_stored(), as_stored(), as_stored()
    changed["webhooks"][0]["rules"][0]["operations"] = ["CREATE"]
    del unlabelled["metadata"]["labels"]
    more["webhooks"].append(webhook() | {"name": "validate.others.example.com"})
    fewer["webhooks"] = None
    assert must_apply(None, configured())
    for live in (changed, unlabelled, more, fewer):
        assert must_apply(live, configured())


@pytest.mark.parametrize(
    ("service", "url"), [(None, None), ("", ""), ("hooks", "https://127.0.0.1")]
)
def test_there_is_exactly_one_way_to_the_webhooks(service: str | None, url: str | None) -> None:
    client = Client(KubeConfig(server="https://127.0.0.1:1"))
    with pytest.raises(ValueError, match="either the name of their Service or a URL"):
        Webhooks(client, [LakeController()], namespace="here", service=service, url=url)
