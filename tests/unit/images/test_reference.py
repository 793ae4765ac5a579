"""Names are read as containerd and Docker read them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.images import BadReference, Reference
from quiver.images.reference import is_repository

DIGEST = "sha256:" + "0123456789abcdef" * 4

parts = st.from_regex(r"[a-z0-9]{1,6}((\.|_|__|-{1,3})[a-z0-9]{1,6}){0,2}", fullmatch=True)
hosts = st.from_regex(r"([a-z0-9]{1,8}\.[a-z]{2,5}|localhost)(:[0-9]{1,5})?", fullmatch=True)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
digests = st.sampled_from(["", DIGEST])


@st.composite
def references(draw: st.DrawFn) -> Reference:
    repository = "/".join(draw(st.lists(parts, min_size=1, max_size=3)))
    return Reference(host=draw(hosts), repository=repository, tag=draw(tags), digest=draw(digests))


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("docker.io/busybox", "docker.io/library/busybox:latest"),
        ("index.docker.io/team/app", "docker.io/team/app:latest"),
        ("semitechnologies/weaviate", "docker.io/semitechnologies/weaviate:latest"),
        (
            "cr.weaviate.io/semitechnologies/weaviate:1.27.0",
            "cr.weaviate.io/semitechnologies/weaviate:1.27.0",
        ),
        (f"localhost:5000/x@{DIGEST}", f"localhost:5000/x@{DIGEST}"),
        (f"ghcr.io/a/b:c@{DIGEST}", f"ghcr.io/a/b:c@{DIGEST}"),
        ("localhost/x", "localhost/x:latest"),
        ("[::1]:5000/x", "[::1]:5000/x:latest"),
        ("Example.com/x", "Example.com/x:latest"),
    ],
)
def test_a_short_name_means_the_same_as_to_containerd(short: str, full: str) -> None:
    assert str(Reference.parse(short)) == full


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "cannot be a repository"),
        ("Busybox", "must be in lower case"),
        ("a//b", "cannot be a repository"),
        ("busybox:", "cannot be a tag"),
        ("busybox:a/b", "cannot be the host"),
        ("busybox:" + "x" * 129, "cannot be a tag"),
        ("busybox@", "is not a digest"),
        ("busybox@sha256:abc", "is not a digest"),
        ("busybox@sha256:" + "A" * 64, "is not a digest"),
        ("0123456789abcdef" * 4, "are an image id"),
        ("a_b.com/x", "cannot be the host"),
        ("a/" + "b" * 254, "cannot be a repository"),
        ("../etc/passwd", "cannot be the host"),
    ],
)
def test_a_bad_name_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadReference, match=why):
        Reference.parse(text)


@settings(deadline=None)
@given(references())
def test_a_full_name_is_read_back_as_it_was_written(reference: Reference) -> None:
    assert Reference.parse(str(reference)) == reference


@settings(deadline=None)
@given(st.text(alphabet="abAB019.:/@-_ []", max_size=30))
def test_any_text_is_a_name_with_one_full_form_or_refused(text: str) -> None:
    try:
        reference = Reference.parse(text)
    except BadReference:
        return
    assert Reference.parse(str(reference)) == reference


@settings(deadline=None)
@given(references())
def test_every_name_has_a_valid_repository_in_the_mirror(reference: Reference) -> None:
    assert is_repository(reference.mirrored_repository)


def test_an_image_is_mirrored_under_its_host() -> None:
    reference = Reference.parse("cr.weaviate.io/semitechnologies/weaviate:1.27.0")
    assert reference.mirrored_repository == "cr.weaviate.io/semitechnologies/weaviate"


def test_a_port_does_not_make_the_mirrored_name_invalid() -> None:
    assert Reference.parse("localhost:5000/x").mirrored_repository == "localhost_5000/x"
