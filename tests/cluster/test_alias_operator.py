"""The second operator of `docs/write-an-operator.md`: waiting, failing, watching, giving back."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from quiver.engine.kinds import INGRESS, SERVICE
from quiver.kube import Client, Invalid
from quiver.testing import Options, running, until
from support.site_operator import ALIAS, Place, alias_operator, condition_of

HOST = "shop.example.com"


@dataclass
class Registrar:
    """One without a network; `moods` are how it takes the next requests."""

    moods: list[bool | Exception] = field(default_factory=list)
    rented: set[str] = field(default_factory=set)
    asked: int = 0

    async def rent(self, host: str) -> bool:
        self.asked += 1
        mood = self.moods.pop(0) if self.moods else True
        if isinstance(mood, Exception):
            raise mood
        self.rented |= {host} if mood else set()
        return mood

    async def give_back(self, host: str) -> None:
        self.rented.discard(host)


@pytest.fixture
def registrar() -> Registrar:
    return Registrar()


@pytest.fixture
async def place(api_client: Client, namespace: str, registrar: Registrar) -> AsyncIterator[Place]:
    """With the operator at work in it."""
    controller = alias_operator.AliasController(registrar, zone="example.com")
    options = Options(namespaces=(namespace,))
    async with running(api_client.config, [controller], options):
        yield Place(api_client, namespace, ALIAS)


async def _make_service(place: Place) -> None:
    await place.make(SERVICE, "web", spec={"ports": [{"name": "http", "port": 80}]})


async def test_an_alias_waits_for_its_service_and_goes_on_when_it_appears(place: Place) -> None:
    await place.create("shop", service="web", host=HOST)
    waiting = await place.told("shop", "Progressing", "True")
    said = "Waiting for Service web: create it, or correct spec.service"
    assert (waiting["reason"], waiting["message"]) == ("Waiting", said)
    await _make_service(place)
    await place.told("shop", "Ready", "True")
    assert await place.get(INGRESS, "alias-shop")


async def test_a_registrar_that_is_away_is_asked_again_and_then_no_more(
    place: Place, registrar: Registrar
) -> None:
    registrar.moods = [OSError("away"), TimeoutError(), OSError("away")]
    await _make_service(place)
    await place.create("shop", service="web", host=HOST)
    alias = await place.awaited(ALIAS, "shop", lambda it: condition_of(it, "Ready"))
    assert alias["status"]["rented"] == HOST
    assert condition_of(alias, "Degraded") == {}
    await place.change(ALIAS, "shop", metadata={"labels": {"looked": "again"}})
    await place.delete(INGRESS, "alias-shop")
    await place.awaited(INGRESS, "alias-shop")
    assert registrar.asked == 4


async def test_a_name_that_is_not_ours_yet_is_told(place: Place, registrar: Registrar) -> None:
    registrar.moods = [False] * 9
    await _make_service(place)
    await place.create("shop", service="web", host=HOST)
    ready = await place.told("shop", "Ready", "False")
    assert ready["message"] == f"{HOST} is asked for, and the registrar thinks it over"


async def test_a_name_that_is_taken_ends_in_a_condition_that_says_what_to_do(
    place: Place, registrar: Registrar
) -> None:
    registrar.moods = [alias_operator.Taken()] * 9
    await _make_service(place)
    await place.create("shop", service="web", host=HOST)
    degraded = await place.told("shop", "Degraded", "True")
    said = "somebody else has this name: choose another spec.host"
    assert (degraded["reason"], degraded["message"]) == ("Failed", said)


async def test_what_the_operator_s_own_settings_forbid_is_told_in_the_status(
    place: Place, registrar: Registrar
) -> None:
    await place.create("shop", service="web", host="shop.example.org")
    degraded = await place.told("shop", "Degraded", "True")
    assert degraded["message"] == "spec.host: names are rented below example.com only"
    assert registrar.asked == 0


async def test_the_name_is_given_back_before_the_alias_goes(
    place: Place, registrar: Registrar
) -> None:
    await _make_service(place)
    await place.create("shop", service="web", host=HOST)
    await place.told("shop", "Ready", "True")
    assert registrar.rented == {HOST}
    await place.delete(ALIAS, "shop")
    await place.gone(ALIAS, "shop")
    assert registrar.rented == set()


async def test_events_tell_what_became_of_the_name(place: Place) -> None:
    await _make_service(place)
    await place.create("shop", service="web", host=HOST)
    await place.told("shop", "Ready", "True")
    await place.delete(ALIAS, "shop")

    async def untold() -> str | None:
        events = await place.client.list("events.k8s.io/v1", "Event", place.namespace)
        reasons = {it["reason"] for it in events}
        return None if {"Rented", "GivenBack"} <= reasons else f"only {reasons} were told"

    await until(untold, within=30, every=0.05)


async def test_the_host_of_an_alias_cannot_be_changed(place: Place) -> None:
    await place.create("shop", service="web", host=HOST)
    with pytest.raises(Invalid, match="host cannot be changed: make another Alias"):
        await place.change(ALIAS, "shop", spec={"host": "other.example.com"})
