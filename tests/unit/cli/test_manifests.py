"""`quiver crds`, `quiver rbac` and `quiver preflight`: what they print, and what they refuse."""

import argparse
import sys
from types import ModuleType

import pytest
import yaml

from quiver.cli import crds, preflight, rbac
from quiver.engine.installing.definitions import definition
from quiver.engine.installing.rbac import AnyController
from quiver.engine.installing.roles import Setting, operator_roles
from quiver.kube import Object
from support.site import Site, SiteController, ZoneController

TOYS: dict[str, AnyController] = {"site": SiteController, "zone": ZoneController}


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toys in the place of the product's controllers."""
    operators = ModuleType("quiver.operators")

    def chosen(names: str) -> list[AnyController]:
        return [TOYS[name] for name in names.split(",") if name] or list(TOYS.values())

    operators.chosen = chosen  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "quiver.operators", operators)


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="quiver")
    groups = parser.add_subparsers()
    for command in (crds, rbac, preflight):
        command.add_to(groups)
    parsed = parser.parse_args(arguments)
    return int(parsed.run(parsed))


def _printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Object]:
    assert _run(*arguments) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_crds_are_printed_as_the_operator_would_install_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [it["metadata"]["name"] for it in _printed(capsys, "crds")]
    assert names == ["sites.rbac.quiver.dev", "zones.rbac.quiver.dev"]
    assert _printed(capsys, "crds", "--controllers=site") == [definition(Site)]
    assert _printed(capsys, "crds", "sites.rbac.quiver.dev") == [definition(Site)]


def test_a_crd_that_is_none_of_ours_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as end:
        _run("crds", "site")
    assert end.value.code == 2
    said = "there is no 'site'; there are sites.rbac.quiver.dev, zones.rbac.quiver.dev"
    assert said in capsys.readouterr().err


def test_rbac_prints_the_roles_and_who_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    printed = _printed(
        capsys, "rbac", "--controllers=site", "--namespace=ops", "--namespaces=a,b",
        "--service-account=me", "--no-install-crds", "--no-webhooks",
    )  # fmt: skip
    setting = Setting(
        namespace="ops", watched=["a", "b"], installs_definitions=False, answers_webhooks=False
    )
    roles = operator_roles([SiteController], setting)
    assert printed[: len(roles)] == roles
    bindings = printed[len(roles) :]
    assert [it["roleRef"]["name"] for it in bindings] == [it["metadata"]["name"] for it in roles]
    subject = {"kind": "ServiceAccount", "name": "me", "namespace": "ops"}
    assert all(it["subjects"] == [subject] for it in bindings)


def test_uninstalling_is_refused_while_something_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ["there are 1 of Site.rbac.quiver.dev: team/web"]

    async def found(*_: object) -> list[str]:
        return left

    monkeypatch.setattr("quiver.cli.preflight._left", found)
    assert _run("preflight", "uninstall") == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"quiver: {left[0]}"
    assert "delete these first" in said[1]
    left.clear()
    assert _run("preflight", "uninstall") == 0
    assert capsys.readouterr().err == ""
