"""Names of children."""

from hypothesis import given

from quiver.vecodex.names import (
    LABEL_LENGTH,
    LONGEST_NAME,
    Role,
    child_name,
    ingress_name,
    role_of_pod,
    selector_of,
    selector_text,
)
from support.vecodex import NAMES


def test_a_child_of_the_longest_name_just_fits() -> None:
    name = "x" * LONGEST_NAME
    lengths = [len(child_name(name, role)) for role in Role] + [len(ingress_name(name))]
    assert max(lengths) == LABEL_LENGTH


@given(NAMES)
def test_a_pod_is_known_by_its_labels(name: str) -> None:
    for role in Role:
        assert role_of_pod(name, selector_of(name, role)) is role
    assert role_of_pod(name, selector_of(f"{name}x", Role.WRITER)) is None
    assert role_of_pod(name, {}) is None


def test_the_selector_as_text_is_what_kubectl_reads() -> None:
    assert selector_text("one", Role.SEARCHER) == "app=one-searcher"
