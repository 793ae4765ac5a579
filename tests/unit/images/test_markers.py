"""Markers and requirements mean what they mean to pip."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker

from quiver.images import CannotCollect
from quiver.images.markers import holds, marker_environment
from quiver.images.requirements import Requirement

versions = st.builds(
    '{} {} "{}"'.format,
    st.sampled_from(["python_version", "python_full_version"]),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "~="]),
    st.sampled_from(["2.7", "3.9", "3.11", "3.11.7", "3.12", "4.0"]),
)
words = st.builds(
    "{} {} '{}'".format,
    st.sampled_from(["sys_platform", "os_name", "platform_machine", "extra"]),
    st.sampled_from(["==", "!=", "in", "not  in"]),
    st.sampled_from(["linux", "win32", "posix", "x86_64", "speedups"]),
)
markers = st.recursive(
    versions | words,
    lambda inner: (
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("({})".format, inner)
    ),
    max_leaves=6,
)


@settings(deadline=None)
@given(markers, st.sampled_from(["", "speedups"]))
def test_a_marker_holds_where_it_holds_for_pip(marker: str, extra: str) -> None:
    here = {**marker_environment(), "extra": extra}
    assert holds(marker, here) == Marker(marker).evaluate({"extra": extra})


@pytest.mark.parametrize(
    "marker",
    [
        "python_version",
        "python_version <",
        "a == 'b'",
        "(os_name == 'x'",
        "os_name = 'x'",
        "'a' 'b' 'c'",
    ],
)
def test_an_unreadable_marker_is_quoted(marker: str) -> None:
    with pytest.raises(CannotCollect, match="cannot be read"):
        holds(marker, marker_environment())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aiohttp>=3.12", Requirement("aiohttp", (), "")),
        ("Typing_Extensions (>=4)", Requirement("typing-extensions", (), "")),
        ("a[x, y]~=1.0; os_name == 'nt'", Requirement("a", ("x", "y"), "os_name == 'nt'")),
        ("a @ https://h/p;v=1 ; os_name == 'nt'", Requirement("a", (), "os_name == 'nt'")),
    ],
)
def test_a_requirement_is_split_into_its_parts(text: str, expected: Requirement) -> None:
    assert Requirement.parse(text) == expected
