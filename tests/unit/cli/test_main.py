"""The command line: help, exit codes, and errors that are one sentence each."""

import subprocess
import sys
from pathlib import Path

import pytest

from quiver import __version__
from quiver.cli.dev import _split_name
from quiver.cli.main import main, parser

VERBS = ["up", "down", "status", "kubeconfig", "logs", "images", "load-image"]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIVER_STATE", str(tmp_path))


def _helped(*arguments: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence with which a command ends that cannot do what was asked."""
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("quiver: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err.removeprefix("quiver: ").removesuffix("\n")


def test_help_names_the_groups_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    _helped("--help")
    assert "dev" in capsys.readouterr().out


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    _helped("--version")
    assert capsys.readouterr().out == f"quiver {__version__}\n"


def test_help_for_dev_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    _helped("dev", "--help")
    words = capsys.readouterr().out.split()
    assert {*VERBS, "kubectl"} <= set(words)


@pytest.mark.parametrize("verb", VERBS)
def test_each_command_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    _helped("dev", verb, "--help")
    assert capsys.readouterr().out.startswith(f"usage: quiver dev {verb} ")


@pytest.mark.parametrize("arguments", [[], ["dev"], ["dev", "nothing"], ["dev", "up", "--nothing"]])
def test_what_is_no_command_ends_with_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("usage: quiver")


def test_a_bad_name_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = _refused(capsys, "dev", "up", "--name", "Bad_Name", "--control-plane-only")
    assert said.startswith("'Bad_Name' cannot be a cluster's name: ")


@pytest.mark.parametrize("label", ["nothing", "=value", "a b=c"])
def test_a_bad_label_is_refused_in_one_line(label: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = _refused(capsys, "dev", "up", "--node-label", "good=yes", "--node-label", label)
    assert said == f"{label!r} is not a label: write --node-label key=value"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--api-servers", "2"], "add --control-plane-only"),
        (["--control-plane-only", "--api-servers", "0"], "takes a number from 1 to 50"),
        (["--control-plane-only", "--gpus", "1"], "drop --control-plane-only"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why in _refused(capsys, "dev", "up", *options)


@pytest.mark.parametrize("verb", [["status"], ["kubeconfig"], ["kubectl"], ["images"]])
def test_a_cluster_that_is_not_there_is_told_with_the_way_to_it(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = _refused(capsys, "dev", *verb, "--name", "team-a")
    assert said == "there is no cluster 'team-a': `quiver dev up --name team-a` makes it"


def test_a_cluster_without_logs_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no logs" in _refused(capsys, "dev", "logs")


def test_ending_what_is_not_there_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "down", "--name", "team-a"]) == 0
    assert capsys.readouterr().out == "there is no cluster 'team-a'\n"
    assert main(["dev", "down", "--all"]) == 0


def test_without_clusters_the_status_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "status"]) == 0
    assert capsys.readouterr().out == "there are no clusters: `quiver dev up` makes one\n"


@pytest.mark.parametrize(
    "words",
    [
        ["get", "pods", "-A"],
        ["-n", "kube-system", "get", "pods", "--watch"],
        ["--help"],
        ["--name", "team-a", "logs", "-f", "--tail=5", "pod/a"],
        ["exec", "-it", "pod/a", "--", "sh", "-c", "echo --name"],
        [],
    ],
)
def test_kubectl_gets_every_word_as_it_was_typed(words: list[str]) -> None:
    assert parser().parse_args(["dev", "kubectl", *words]).arguments == words


@pytest.mark.parametrize(
    ("words", "name", "rest"),
    [
        ([], "dev", []),
        (["get", "pods"], "dev", ["get", "pods"]),
        (["--name", "team-a", "get", "pods"], "team-a", ["get", "pods"]),
        (["--name", "team-a"], "team-a", []),
        (["get", "pods", "--name", "x"], "dev", ["get", "pods", "--name", "x"]),
        (["-n", "a", "get", "--", "-x"], "dev", ["-n", "a", "get", "--", "-x"]),
    ],
)
def test_only_a_name_before_kubectl_s_own_words_is_ours(
    words: list[str], name: str, rest: list[str]
) -> None:
    assert _split_name(words) == (name, rest)


def test_an_interrupt_is_one_line_and_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("quiver.devcluster.report.overview", interrupted)
    assert main(["dev", "status"]) == 130
    assert capsys.readouterr().err == "quiver: interrupted\n"


def test_a_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise ZeroDivisionError

    monkeypatch.setattr("quiver.devcluster.report.overview", broken)
    with pytest.raises(ZeroDivisionError):
        main(["dev", "status"])


def test_the_package_is_the_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "quiver", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"quiver {__version__}\n"


def test_help_does_not_wait_for_what_only_commands_need() -> None:
    heavy = {"aiohttp", "asyncio", "cryptography", "msgspec", "yaml"}
    program = f"import quiver.cli.main, sys; print({heavy} & sys.modules.keys())"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout == "set()\n"


@pytest.mark.parametrize("name", ["", "..", "/etc/hostname", "a/b"])
@pytest.mark.parametrize("verb", ["down", "kubeconfig", "logs", "images"])
def test_a_name_that_is_a_path_touches_no_file(
    verb: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", verb, "--name", name]) == 1
    assert "cannot be a cluster's name" in capsys.readouterr().err


def test_kubectl_takes_the_name_in_both_spellings() -> None:
    assert _split_name(["--name=other", "get", "-A"]) == ("other", ["get", "-A"])
    assert _split_name(["--name", "other", "get", "-A"]) == ("other", ["get", "-A"])
