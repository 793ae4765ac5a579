"""What may be asked for, and the sentence for what may not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.devcluster.errors import DevClusterError
from quiver.devcluster.spec import Spec, checked, parse_labels

CONTROL_PLANE = Spec(node=False)


@pytest.mark.parametrize("name", ["dev", "a", "a1", "team-a", "a" * 30])
def test_a_good_name_is_taken(name: str) -> None:
    assert checked(Spec(name=name)).name == name


@pytest.mark.parametrize(
    "name",
    ["", "Dev", "Bad_Name", "1a", "-a", "a-", "a" * 31, "a.b", "a/b", "..", "/", "a b", "a\n", "ä"],
)
def test_a_bad_name_is_refused_and_the_rule_is_told(name: str) -> None:
    with pytest.raises(DevClusterError) as refusal:
        checked(Spec(name=name))
    assert str(refusal.value) == (
        f"{name!r} cannot be a cluster's name: use up to 30 lower-case letters, digits"
        " and dashes, beginning with a letter"
    )


@settings(deadline=None)
@given(st.text(alphabet="ab1-./_ A", max_size=32))
def test_a_name_that_is_taken_is_one_part_of_a_path(name: str) -> None:
    try:
        checked(Spec(name=name))
    except DevClusterError:
        return
    assert name[0].isalpha()
    assert set(name) <= set("ab1-")
    assert len(name) <= 30


@pytest.mark.parametrize("count", [1, 2, 50])
def test_up_to_fifty_api_servers_share_one_etcd(count: int) -> None:
    assert checked(Spec(node=False, api_servers=count)).api_servers == count


@pytest.mark.parametrize("count", [-1, 0, 51])
def test_another_number_of_api_servers_is_refused(count: int) -> None:
    with pytest.raises(DevClusterError, match="--api-servers takes a number from 1 to 50"):
        checked(Spec(node=False, api_servers=count))


def test_several_api_servers_have_no_node() -> None:
    with pytest.raises(DevClusterError, match="add --control-plane-only to --api-servers"):
        checked(Spec(api_servers=2))


@pytest.mark.parametrize(
    "spec", [Spec(node=False, gpus=1), Spec(node=False, node_labels={"a": "b"})]
)
def test_without_a_node_there_is_nothing_to_label(spec: Spec) -> None:
    with pytest.raises(DevClusterError, match="need a node: drop --control-plane-only"):
        checked(spec)


@pytest.mark.parametrize(
    ("spec", "controllers", "scheduler"),
    [
        (CONTROL_PLANE, False, False),
        (Spec(node=False, controller_manager=True), True, False),
        (Spec(node=False, simulated_nodes=1), True, True),
        (Spec(), True, True),
    ],
)
def test_only_what_is_needed_runs(spec: Spec, controllers: bool, scheduler: bool) -> None:
    assert (spec.runs_controllers, spec.runs_scheduler) == (controllers, scheduler)


def test_labels_are_keys_and_values() -> None:
    texts = ["instance/db=true", "a=", "b=c=d", "node.kubernetes.io/instance-type=c5.4xlarge"]
    assert parse_labels(texts) == {
        "instance/db": "true",
        "a": "",
        "b": "c=d",
        "node.kubernetes.io/instance-type": "c5.4xlarge",
    }


def test_the_last_of_two_values_counts() -> None:
    assert parse_labels(["a=1", "a=2"]) == {"a": "2"}


@pytest.mark.parametrize("text", ["", "a", "=b", "a/b/c=d", "-a=b", "a-=b", "/a=b", "a b=c"])
def test_what_is_no_label_is_quoted(text: str) -> None:
    with pytest.raises(DevClusterError) as refusal:
        parse_labels(["good=yes", text])
    assert str(refusal.value) == f"{text!r} is not a label: write --node-label key=value"


@pytest.mark.parametrize(
    "spec",
    [
        Spec(gpus=-1),
        Spec(simulated_nodes=-1),
        Spec(node=False, api_port=0),
        Spec(node=False, api_port=70000),
    ],
)
def test_a_number_out_of_range_is_refused_before_anything_is_made(spec: Spec) -> None:
    with pytest.raises(DevClusterError, match=r"take[s]? a number from"):
        checked(spec)
