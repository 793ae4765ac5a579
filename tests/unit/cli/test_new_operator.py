"""`quiver new-operator`: the names it takes, the files it writes, and what it leaves alone."""

import argparse
import string
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quiver import scaffold
from quiver.cli import new_operator
from quiver.scaffold.names import LONGEST_KIND, LONGEST_OPERATOR, plural_of

SHORTEST = scaffold.Names(operator="a", kind="B", group="c.d")
LONGEST = scaffold.Names(
    operator="o" * LONGEST_OPERATOR, kind="K" + "k" * (LONGEST_KIND - 1), group="g." * 24 + "gg"
)


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="quiver")
    new_operator.add_to(parser.add_subparsers())
    parsed = parser.parse_args(["new-operator", *arguments])
    return int(parsed.run(parsed))


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        _run(*arguments)
    assert end.value.code == 2
    return capsys.readouterr().err


def test_names_follow_from_the_operator_s() -> None:
    names = scaffold.names_for("web-shop-operator")
    assert (names.kind, names.package) == ("WebShop", "web_shop_operator")
    assert (names.plural, names.controller) == ("webshops", "webshop")
    assert names.group == "example.com"


@pytest.mark.parametrize(
    ("word", "plural"),
    [("site", "sites"), ("policy", "policies"), ("key", "keys"), ("box", "boxes")],
)
def test_plurals_are_english(word: str, plural: str) -> None:
    assert plural_of(word) == plural


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["Site"], "'Site' cannot be an operator's name: write at most 36 lower-case letters"),
        (["site_operator"], "'site_operator' cannot be an operator's name"),
        (["../evil"], "'../evil' cannot be an operator's name"),
        (["a" * 37], "cannot be an operator's name"),
        (["site"], "a Python package 'site' would hide another; write site-operator"),
        (["quiver"], "a Python package 'quiver' would hide another"),
        (["class"], "a Python package 'class' would hide another"),
        (["site-operator", "--kind", "site"], "'site' cannot be a kind: write at most 28 letters"),
        (["site-operator", "--kind", "Turn"], "the code already has something of that name"),
        (["site-operator", "--kind", "None"], "the code already has something of that name"),
        (["turn-operator"], "'Turn' cannot be a kind"),
        (["site-operator", "--group", "example"], "'example' cannot be an API group"),
        (["site-operator", "--group", "Example.com"], "'Example.com' cannot be an API group"),
        (["site-operator", "--group", "apps.k8s.io"], "belong to Kubernetes itself"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_what_can(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    assert why in _refused(capsys, *arguments, "--into", str(folder))
    assert not folder.exists()


@pytest.mark.parametrize("taken", ["a folder", "a file"])
def test_what_is_there_already_is_left_alone(
    taken: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    kept = place if taken == "a file" else place / "README.md"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("mine")
    said = _refused(capsys, "site-operator", "--into", str(place))
    assert f"{place} is there already: choose another folder with --into" in said
    assert kept.read_text() == "mine"
    assert [it for it in tmp_path.rglob("*") if it.is_file()] == [kept]


def test_an_empty_folder_is_filled_and_the_chart_has_what_the_code_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    group = "shops.example.com"
    assert _run("shop-operator", "--group", group, "--into", str(tmp_path)) == 0
    assert f"shop-operator is in {tmp_path}: " in capsys.readouterr().out
    definition = tmp_path / "chart" / "crds" / f"shops.{group}.yaml"
    assert yaml.safe_load(definition.read_text())["spec"]["names"]["kind"] == "Shop"
    roles = list(yaml.safe_load_all((tmp_path / "chart/templates/rbac.yaml").read_text()))
    assert {it["metadata"]["name"] for it in roles} == {"shop-operator-own", "shop-operator-shop"}
    assert list(tmp_path.rglob("__pycache__")) == []


def test_by_default_the_folder_has_the_operator_s_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _run("shop-operator") == 0
    assert (tmp_path / "shop-operator" / "src" / "shop_operator" / "api.py").is_file()


def test_every_place_for_a_name_is_filled() -> None:
    for path, text in scaffold.rendered(scaffold.templates(), LONGEST).items():
        assert "<<" not in path + text
        assert "__package__" not in path + text
        assert not path.endswith(".template")


@pytest.mark.parametrize("names", [SHORTEST, LONGEST], ids=["shortest", "longest"])
def test_the_code_is_in_style_whatever_the_names(names: scaffold.Names, tmp_path: Path) -> None:
    scaffold.write(scaffold.rendered(scaffold.templates(), names), tmp_path)
    for check in (["check"], ["format", "--check", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check, "--no-cache", "."],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


_LABELS = st.from_regex(r"[a-z]([-a-z0-9]{0,9}[a-z0-9])?", fullmatch=True)
_ANY = st.text(max_size=50) | _LABELS


@given(_ANY, _ANY | st.from_regex(r"[A-Z][a-z]{1,9}", fullmatch=True), _ANY)
def test_a_name_that_is_taken_is_one_for_python_too_and_leads_out_of_no_folder(
    operator: str, kind: str, group: str
) -> None:
    with suppress(scaffold.CannotScaffold):
        names = scaffold.names_for(operator, kind=kind, group=f"{group}.example.com")
        assert names.package.isidentifier()
        assert names.kind.isidentifier()
        assert set(names.group) <= set(string.ascii_lowercase + string.digits + ".-")
        (path,) = scaffold.rendered({"src/__package__/api.py.template": ""}, names)
        assert path == f"src/{names.package}/api.py"
