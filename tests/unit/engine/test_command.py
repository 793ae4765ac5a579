"""The program of another team's operator: what it prints, refuses and runs."""

import argparse
from typing import Any

import pytest
import yaml

from quiver.engine import arguments
from quiver.engine.command import main
from quiver.engine.controller import Controller
from quiver.engine.installing.definitions import definition
from quiver.kube import ConfigError
from support.site import Site, SiteController, ZoneController

BOTH: list[Controller[Any]] = [SiteController(), ZoneController()]


def test_crds_prints_the_definitions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BOTH, ["crds", "sites.rbac.quiver.dev"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == definition(Site)


def test_rbac_names_everything_after_the_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(BOTH, ["rbac"], name="pages") == 0
    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert {it["metadata"]["name"] for it in printed} == {
        "pages-own",
        "pages-site",
        "pages-site-own",
        "pages-zone",
    }
    subjects = [it["subjects"] for it in printed if "subjects" in it]
    account = {"kind": "ServiceAccount", "name": "pages", "namespace": "pages"}
    assert subjects == [[account]] * 4


@pytest.mark.parametrize(("name", "lease"), [("", "site-operator"), ("pages", "pages")])
def test_operator_runs_these_controllers_under_the_operator_s_lease(
    name: str, lease: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []

    def run(given: argparse.Namespace, controllers: object) -> int:
        ran.extend([given.leader_elect_name, controllers])
        return 7

    monkeypatch.setattr(arguments, "run", run)
    assert main(BOTH, ["operator", "--leader-elect"], name=name) == 7
    assert ran == [lease, BOTH]


def test_what_cannot_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> int:
        raise ConfigError("there is no kubeconfig")

    monkeypatch.setattr(arguments, "run", run)
    assert main(BOTH, ["operator"]) == 1
    assert capsys.readouterr().err == "site-operator: there is no kubeconfig\n"


def test_a_program_without_controllers_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no controller"):
        main([], ["crds"])
