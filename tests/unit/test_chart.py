"""The chart: what it renders, what it refuses, and that it is in step with the code."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiver import __version__
from quiver.cli.main import parser
from quiver.engine.installing.grants import Grant, allowed
from quiver.engine.installing.rbac import AnyController
from quiver.engine.installing.roles import Setting, operator_roles, people_roles
from quiver.kube import Object
from support.chart import CHART, CannotRender, notes, render
from support.generator import generate
from support.site import SiteController, ZoneController

ROOT = CHART.parents[1]
TOYS: dict[str, AnyController] = {"vecodex": SiteController, "zone": ZoneController}


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the chart, with the rights of two toys instead of the product's."""
    root = tmp_path_factory.mktemp("chart")
    shutil.copytree(CHART, root / "charts" / "quiver")
    generate.write(generate.generated(TOYS), root)
    return root / "charts" / "quiver"


def _of_kind(objects: Sequence[Object], *kinds: str) -> list[Object]:
    return [it for it in objects if it["kind"] in kinds]


def _one(objects: Sequence[Object], kind: str) -> Object:
    (found,) = _of_kind(objects, kind)
    return found


def _arguments(objects: Sequence[Object]) -> list[str]:
    container = _one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    return list(container["args"])


def _granted(roles: Sequence[Object], place: str) -> frozenset[Grant]:
    """What roles grant in a namespace or, with an empty place, everywhere."""
    rules = [it["rules"] for it in roles if it["metadata"].get("namespace", "") == place]
    return frozenset[Grant]().union(*map(allowed, rules))


@pytest.mark.parametrize("watched", [[], ["a", "b"], ["quiver-system"]])
@pytest.mark.parametrize("webhooks", [True, False])
@pytest.mark.parametrize("installs", [True, False])
def test_the_chart_grants_what_the_code_says(
    chart: Path, watched: list[str], webhooks: bool, installs: bool
) -> None:
    objects = render(
        {
            "controllers": {"zone": {"enabled": True}},
            "watchNamespaces": watched,
            "webhook": {"enabled": webhooks},
            "crds": {"install": installs},
            "rbac": {"aggregate": False},
        },
        chart=chart,
    )
    setting = Setting(watched=watched, installs_definitions=installs, answers_webhooks=webhooks)
    wanted = operator_roles(TOYS.values(), setting)
    rendered = _of_kind(objects, "ClusterRole", "Role")
    for place in ("", "quiver-system", *watched):
        assert _granted(rendered, place) == _granted(wanted, place)


def test_every_role_of_the_operator_is_bound_to_its_account(chart: Path) -> None:
    objects = render(
        {"watchNamespaces": ["a"], "rbac": {"aggregate": False}},
        chart=chart, name="mine", namespace="ops",
    )  # fmt: skip
    roles = {(it["kind"], it["metadata"]["name"], it["metadata"].get("namespace"))
             for it in _of_kind(objects, "ClusterRole", "Role")}  # fmt: skip
    bindings = _of_kind(objects, "ClusterRoleBinding", "RoleBinding")
    bound = {(it["roleRef"]["kind"], it["roleRef"]["name"], it["metadata"].get("namespace"))
             for it in bindings}  # fmt: skip
    assert roles == bound
    account = _one(objects, "ServiceAccount")["metadata"]
    subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": "ops"}
    assert all(it["subjects"] == [subject] for it in bindings)


def test_an_operator_that_is_off_has_no_rights(chart: Path) -> None:
    values = {"controllers": {"vecodex": {"enabled": False}, "zone": {"enabled": True}}}
    objects = render(values, chart=chart)
    resources = {
        grant.resource
        for role in _of_kind(objects, "ClusterRole", "Role")
        for grant in allowed(role["rules"])
    }
    assert "zones" in resources
    assert "sites" not in resources
    assert "deployments" not in resources
    assert "--controllers=zone" in _arguments(objects)


def test_people_get_the_rights_that_the_code_says(chart: Path) -> None:
    rendered = [it for it in _of_kind(render(chart=chart), "ClusterRole")
                if any("aggregate" in label for label in it["metadata"]["labels"])]  # fmt: skip
    wanted = people_roles([SiteController])
    assert sorted(it["metadata"]["name"] for it in rendered) == ["quiver-editor", "quiver-viewer"]
    assert [it["rules"] for it in rendered] == [it["rules"] for it in wanted]
    for found, role in zip(rendered, wanted, strict=True):
        assert role["metadata"]["labels"].items() <= found["metadata"]["labels"].items()


def test_the_pods_are_confined(chart: Path) -> None:
    for obj in _of_kind(render(chart=chart, hooks=True), "Deployment", "Job"):
        pod = obj["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} <= container["resources"].keys()


def test_one_replica_has_no_disruption_budget_and_several_have_one(chart: Path) -> None:
    assert not _of_kind(render(chart=chart), "PodDisruptionBudget")
    several = render({"replicas": 3}, chart=chart)
    assert _one(several, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    pod = _one(several, "Deployment")["spec"]["template"]["spec"]
    assert pod["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"


def test_values_become_flags(chart: Path) -> None:
    arguments = _arguments(
        render(
            {
                "watchNamespaces": ["a", "b"],
                "crds": {"install": False, "takeOver": ["x.example.com"]},
                "leaderElection": {"enabled": False},
                "webhook": {"enabled": False},
                "metrics": {"enabled": False},
                "log": {"format": "human", "level": "debug"},
                "workers": 4,
                "extraArgs": ["--more=1"],
            },
            chart=chart,
            namespace="ops",
        )
    )
    assert arguments == [
        "operator",
        "--controllers=vecodex",
        "--namespaces=a,b",
        "--health-probe-bind-address=:8081",
        "--metrics-bind-address=",
        "--webhook-bind-address=",
        "--no-leader-elect",
        "--leader-elect-namespace=ops",
        "--leader-elect-name=quiver",
        "--no-install-crds",
        "--take-over-crds=x.example.com",
        "--workers=4",
        "--log-format=human",
        "--log-level=debug",
        "--more=1",
    ]


def test_the_webhook_service_leads_to_the_port_that_is_served(chart: Path) -> None:
    objects = render(chart=chart, name="mine")
    services = {it["metadata"]["name"]: it for it in _of_kind(objects, "Service")}
    assert services.keys() == {"mine-quiver-metrics", "mine-quiver-webhook"}
    assert "--webhook-service=mine-quiver-webhook" in _arguments(objects)
    container = _one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    ports = {it["name"] for it in container["ports"]}
    for service in services.values():
        assert {it["targetPort"] for it in service["spec"]["ports"]} <= ports


def test_a_digest_counts_more_than_a_tag(chart: Path) -> None:
    digest = f"sha256:{'a' * 64}"
    pod = _one(render({"image": {"tag": "x", "digest": digest}}, chart=chart), "Deployment")
    image = pod["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == f"ghcr.io/quiver-dev/quiver@{digest}"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"controllers": {"nothing": {"enabled": True}}}, "there is no such controller"),
        ({"controllers": {"vecodex": {"enabled": False}}}, "nothing to run; enable one"),
        ({"replicas": 2, "leaderElection": {"enabled": False}}, "work against each other"),
        ({"replica": 2}, "replica"),
        ({"log": {"level": "loud"}}, "level"),
        ({"watchNamespaces": "a"}, "watchNamespaces"),
        ({"image": {"digest": "sha256:short"}}, "digest"),
    ],
)
def test_what_cannot_work_is_refused_with_its_name(
    chart: Path, values: dict[str, Any], why: str
) -> None:
    with pytest.raises(CannotRender, match=why):
        render(values, chart=chart)


def test_every_value_is_described_and_in_the_schema() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    assert {*values, "global"} == schema["properties"].keys()
    for name, described in schema["properties"].items():
        if "properties" in described:
            assert values[name].keys() == described["properties"].keys()


def test_the_notes_name_the_next_step() -> None:
    text = notes(name="mine")
    assert "rollout status deployment/mine-quiver" in text
    assert "kubectl get vecodexsets" in text


def test_chart_and_kustomize_carry_the_version_of_the_package() -> None:
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())
    manager = yaml.safe_load((ROOT / "config/manager/kustomization.yaml").read_text())
    assert described["version"] == described["appVersion"] == __version__
    assert manager["images"][0]["newTag"] == __version__


def test_crds_of_the_chart_that_nobody_has_any_more_are_removed(tmp_path: Path) -> None:
    generate.write(generate.generated(TOYS), tmp_path)
    assert generate.write(generate.generated(TOYS), tmp_path) == []
    removed = generate.write(generate.generated({"vecodex": SiteController}), tmp_path)
    assert "charts/quiver/crds/zones.rbac.quiver.dev.yaml" in removed
    crds = [path.name for path in (tmp_path / "charts/quiver/crds").iterdir()]
    assert crds == ["sites.rbac.quiver.dev.yaml"]


def test_what_is_generated_is_in_step_with_the_code() -> None:
    from quiver.operators import controllers

    files = generate.generated(controllers())
    for path, text in files.items():
        assert (ROOT / path).read_text() == text, f"{path} is stale: run `make generate`"
    crds = {str(path.relative_to(ROOT)) for path in (CHART / "crds").iterdir()}
    assert crds <= files.keys()
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["controllers"].keys() == controllers().keys()


def test_the_operator_knows_every_flag_that_it_is_given() -> None:
    given = [_arguments(render()), _arguments(render({"shards": True})), _manager_arguments()]
    for arguments in given:
        parser().parse_args(arguments)


def _manager_arguments() -> list[str]:
    manager = yaml.safe_load((ROOT / "config/manager/manager.yaml").read_text())
    return list(manager["spec"]["template"]["spec"]["containers"][0]["args"])
