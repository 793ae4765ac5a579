"""Does live contain desired? What the API server makes of it is shown in tests/cluster."""

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiver.engine.compare import APPLIED, difference, digest, reason_to_apply, stamped
from support.desired_samples import DEPLOYMENT, NETWORK_POLICY, SAMPLES, SECRET, Sample
from support.mutation import mutated

Object = dict[str, Any]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)
SEEDS = st.integers(0, 2**32)


def deployment(**pod: Any) -> Object:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "template": template},
    }


def container(**fields: Any) -> Object:
    return deployment(containers=[{"name": "web"} | fields])


def service(**spec: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}


def custom(**spec: Any) -> Object:
    return {"apiVersion": "a.test/v1", "kind": "Thing", "metadata": {"name": "it"}, "spec": spec}


def reason(desired: Object, live: Object) -> str | None:
    """As the rule has it, for an object that was applied as it is desired."""
    applied = live["metadata"] | {"annotations": {APPLIED: digest(desired)}}
    return reason_to_apply(desired, live | {"metadata": applied})


WEB = "spec.template.spec.containers[name=web]"


@pytest.mark.parametrize(
    ("desired", "live", "path"),
    [
        (container(image="a:2"), container(image="a:1"), f"{WEB}.image"),
        (container(), deployment(containers=[{"name": "api"}]), WEB),
        (container(env=[{"name": "A"}]), container(), f"{WEB}.env[name=A]"),
        (container(args=["a", "b"]), container(args=["b", "a"]), f"{WEB}.args[0]"),
        (container(tty=True), container(), f"{WEB}.tty"),
        (
            deployment(nodeSelector={"disk": "ssd"}),
            deployment(nodeSelector={"disk": "ssd", "zone": "a"}),
            "spec.template.spec.nodeSelector.zone",
        ),
        (
            service(ports=[{"port": 53, "protocol": "UDP"}]),
            service(ports=[{"port": 53, "protocol": "TCP"}]),
            "spec.ports[port=53,protocol=UDP]",
        ),
        (
            service(selector={"app": "web"}),
            service(selector={"app": "web", "x.test/y": "1"}),
            "spec.selector[x.test/y]",
        ),
        (custom(items=[{"a": 1}]), custom(items=[{"a": 1, "b": 2}]), "spec.items[0].b"),
        (custom(on=True), custom(on=1), "spec.on"),
    ],
)
def test_the_first_difference_is_named_by_its_path(
    desired: Object, live: Object, path: str
) -> None:
    assert difference(desired, live) == path
    assert reason(desired, live) == f"{path} is not as desired"


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        (
            container(resources={"requests": {"cpu": "500m", "memory": "1Gi"}}),
            container(resources={"requests": {"cpu": 0.5, "memory": "1024Mi", "pods": 1}}),
        ),
        (
            container(resources={"requests": {"cpu": "0.0001"}}),
            container(resources={"requests": {"cpu": "1m"}}),
        ),
        (
            container(env=[{"name": "A", "value": "1"}, {"name": "C", "value": ""}]),
            container(env=[{"name": "A", "value": "1"}, {"name": "B"}, {"name": "C"}]),
        ),
        (
            container(ports=[{"containerPort": 80}]),
            container(ports=[{"containerPort": 80, "protocol": "TCP"}]),
        ),
        (
            service(ports=[{"port": 53}]),
            service(ports=[{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]),
        ),
        (container(tty=False, workingDir="", args=[], env=None), container()),
        (deployment(nodeSelector={}, volumes=[], tolerations=None), deployment()),
        (service(), service(clusterIP="10.0.0.1", type="ClusterIP")),
        (custom(a={"b": 1}, c=None), custom(a={"b": 1.0, "x": 2}, d=3)),
    ],
)
def test_what_others_added_and_how_it_is_written_is_no_difference(
    desired: Object, live: Object
) -> None:
    assert difference(desired, live) is None


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        # Pointers in the server's types: false, 0 and {} are something else than nothing.
        (deployment(automountServiceAccountToken=False), deployment()),
        (container(securityContext={"runAsUser": 0}), container(securityContext={})),
        (
            deployment(volumes=[{"name": "a", "emptyDir": {}}]),
            deployment(volumes=[{"name": "a", "hostPath": {"path": "/"}}]),
        ),
        # A key without a value is something else than no key.
        (service(), {**service(), "metadata": {"name": "other"}}),
        (custom(items=[]), custom()),
        (custom(on=False), custom()),
        # The desired order, and each desired item once.
        (
            container(env=[{"name": "A"}, {"name": "B"}]),
            container(env=[{"name": "B"}, {"name": "A"}]),
        ),
        (
            container(env=[{"name": "A"}]),
            container(env=[{"name": "A"}, {"name": "A", "value": "2"}]),
        ),
        # Nothing asked for in an atomic place, where others put something.
        (deployment(tolerations=[]), deployment(tolerations=[{"operator": "Exists"}])),
    ],
)
def test_what_an_apply_would_change_is_a_difference(desired: Object, live: Object) -> None:
    assert difference(desired, live) is not None


def test_what_the_server_fills_in_inside_an_atomic_list_is_no_difference() -> None:
    live = copy.deepcopy(NETWORK_POLICY.plain)
    for port in live["spec"]["ingress"][0]["ports"]:
        port.setdefault("protocol", "TCP")
    assert difference(NETWORK_POLICY.plain, live) is None
    live["spec"]["ingress"][0]["ports"][0]["protocol"] = "SCTP"
    path = difference(NETWORK_POLICY.plain, live)
    assert path == "spec.ingress[0].ports[0].protocol"


def test_the_texts_of_a_secret_are_found_in_its_data() -> None:
    data = {"token": "c2VjcmV0", "empty": "", "password": "aHVudGVyMg=="}
    live = {**SECRET.plain, "data": data}
    del live["stringData"]
    assert difference(SECRET.plain, live) is None
    assert difference(SECRET.plain, {**live, "data": data | {"password": "eA=="}}) == (
        "data.password"
    )


def test_what_only_the_server_sets_is_not_compared() -> None:
    desired = copy.deepcopy(DEPLOYMENT.plain)
    desired["metadata"] |= {"uid": "1", "resourceVersion": "5", "creationTimestamp": None}
    desired["status"] = {"replicas": 3}
    assert difference(desired, DEPLOYMENT.plain) is None
    assert digest(desired) == digest(DEPLOYMENT.plain)


def test_an_object_that_is_missing_is_applied() -> None:
    assert reason_to_apply(DEPLOYMENT.plain, None) == "it does not exist"


def test_dropping_something_from_desired_is_seen_by_the_digest() -> None:
    live = stamped(DEPLOYMENT.plain)
    desired = copy.deepcopy(DEPLOYMENT.plain)
    del desired["spec"]["template"]["spec"]["containers"][0]["env"][0]
    assert difference(desired, live) is None
    assert reason_to_apply(desired, live) == "what is desired is not what was last applied"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.plain["kind"])
def test_a_stamp_changes_neither_the_digest_nor_what_is_contained(sample: Sample) -> None:
    for desired in sample:
        assert digest(stamped(desired)) == digest(desired)
        assert APPLIED not in desired["metadata"].get("annotations", {})
        without_texts = {key: value for key, value in desired.items() if key != "stringData"}
        assert reason_to_apply(without_texts, stamped(without_texts)) is None


@given(JSON)
def test_everything_contains_itself(spec: Any) -> None:
    assert difference(custom(spec=spec), custom(spec=spec)) is None


@given(st.sampled_from(SAMPLES), SEEDS)
def test_the_digest_does_not_depend_on_the_order_of_maps(sample: Sample, seed: int) -> None:
    assert digest(shuffled(sample.rich, Random(seed))) == digest(sample.rich)


@given(st.sampled_from(SAMPLES), SEEDS)
def test_the_digest_changes_with_what_is_desired(sample: Sample, seed: int) -> None:
    other, _ = mutated(sample.plain, sample.rich, Random(seed))
    if not other["metadata"].get("annotations", True):
        del other["metadata"]["annotations"]  # None are as no annotations: a stamp may be alone.
    assert (digest(other) == digest(sample.plain)) == (other == sample.plain)


@given(st.sampled_from(SAMPLES), SEEDS)
def test_a_difference_is_found_in_whatever_shape_live_is(sample: Sample, seed: int) -> None:
    live, random = sample.plain, Random(seed)
    for _ in range(3):
        live, _ = mutated(live, sample.rich, random)
        live = misshapen(live, random)
    assert difference(sample.plain, live) != ""
    assert difference(live, sample.plain) != ""


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = random.sample(list(value), len(value))
        return {name: shuffled(value[name], random) for name in names}
    return [shuffled(item, random) for item in value] if isinstance(value, list) else value


def misshapen(obj: Object, random: Random) -> Object:
    """Something of the wrong sort somewhere below the top."""
    obj = copy.deepcopy(obj)
    place: Any = obj
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = random.choice([key for key in keys if key not in ("apiVersion", "kind")] or keys)
        if random.random() < 0.3 and place is not obj:
            place[key] = random.choice([None, 1, "x", {"a": 1}, [1], [[]], [{"name": {}}]])
            break
        place = place[key]
    return obj
