"""A repository from `quiver new-operator` passes its own checks and tests as it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from quiver import scaffold
from quiver.devcluster.handle import DevCluster
from quiver.kube import Client
from support.chart import render

NAMES = scaffold.Names(operator="shop-operator", kind="Shop", group="scaffold.example.com")
# Kept between runs: most of what mypy reads is the same each time.
MYPY_CACHE = Path(__file__).parents[2] / ".mypy_cache" / "scaffold"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repositories") / NAMES.operator
    scaffold.write(scaffold.rendered(scaffold.templates(), NAMES), folder)
    scaffold.generate_chart(folder, NAMES)
    return folder


def _run(repository: Path, *arguments: str) -> str:
    """What a module of this interpreter printed, run in the repository."""
    inherited = {name: it for name, it in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=repository,
        env=inherited | {"PYTHONPATH": "src"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_code_is_in_style(repository: Path) -> None:
    _run(repository, "ruff", "check", "--no-cache", ".")
    _run(repository, "ruff", "format", "--no-cache", "--check", ".")


def test_its_types_are_right(repository: Path) -> None:
    assert "no issues" in _run(repository, "mypy", "--cache-dir", str(MYPY_CACHE))


def test_its_tests_pass_on_a_real_server(repository: Path, api_server: DevCluster) -> None:
    # The run's name is in the environment, so that its fixtures find the server that is up.
    del api_server
    said = _run(repository, "pytest", "-q", "-p", "no:cacheprovider")
    assert "6 passed" in said
    assert "starting cluster" not in said


def test_its_program_printed_what_its_chart_has(repository: Path) -> None:
    definition = repository / "chart" / "crds" / "shops.scaffold.example.com.yaml"
    assert yaml.safe_load(definition.read_text())["spec"]["names"]["kind"] == "Shop"
    roles = yaml.safe_load_all((repository / "chart" / "templates" / "rbac.yaml").read_text())
    kinds = sorted(it["kind"] for it in roles)
    assert kinds == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]


async def test_the_server_takes_all_that_its_chart_has(
    repository: Path, api_client: Client, namespace: str
) -> None:
    objects = render(
        name=NAMES.operator, namespace=namespace, crds=True, chart=repository / "chart"
    )
    for obj in objects:
        await api_client.apply(obj, dry_run=True, field_validation="Strict")
    accounts = [it for it in objects if it["kind"] == "ServiceAccount"]
    (account,) = ((it["metadata"]["name"], it["metadata"]["namespace"]) for it in accounts)
    assert account == (NAMES.operator, namespace)
    bound = {
        (subject["name"], subject["namespace"])
        for it in objects
        if it["kind"].endswith("Binding")
        for subject in it["subjects"]
    }
    assert bound == {account}
    (pods,) = (it["spec"]["template"]["spec"] for it in objects if it["kind"] == "Deployment")
    assert pods["serviceAccountName"] == account[0]


@pytest.mark.parametrize("file", [".github/workflows/ci.yml", "examples/one.yaml"])
def test_its_other_files_are_yaml(repository: Path, file: str) -> None:
    assert yaml.safe_load((repository / file).read_text())
