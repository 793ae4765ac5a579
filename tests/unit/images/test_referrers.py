"""The index that clients keep for registries that list no referrers."""

import pytest

from quiver.images import Artifact, ArtifactFile, BadDocument
from quiver.images.oci import INDEX, MANIFEST, describe, encode
from quiver.images.referrers import (
    NO_REFERRERS,
    as_referrer,
    fallback_tag,
    of_type,
    referrers_in,
    with_referrer,
)

SUBJECT = describe(b"image", MANIFEST)
SIGNATURE = Artifact(
    artifact_type="application/vnd.example.signature",
    files=(ArtifactFile(media_type="application/octet-stream", data=b"signed"),),
    annotations={"who": "me"},
)
REFERRER = as_referrer(SIGNATURE.manifest(SUBJECT), describe(b"signature", MANIFEST))


def test_the_tag_is_the_digest_in_characters_a_tag_may_have() -> None:
    assert fallback_tag("sha256:" + "a" * 64) == "sha256-" + "a" * 64


def test_the_tag_of_a_long_digest_is_cut_to_what_fits() -> None:
    assert fallback_tag("sha512:" + "a" * 128) == "sha512-" + "a" * 64


def test_an_artifact_points_at_its_subject() -> None:
    assert SIGNATURE.manifest(SUBJECT).subject == SUBJECT


def test_the_entry_of_an_artifact_tells_its_type_and_annotations() -> None:
    assert REFERRER.artifact_type == "application/vnd.example.signature"
    assert REFERRER.annotations == {"who": "me"}


def test_an_artifact_is_listed_once_however_often_it_is_added() -> None:
    once = with_referrer(NO_REFERRERS, REFERRER)
    assert once.manifests == (REFERRER,)
    assert with_referrer(once, REFERRER) is once


def test_referrers_are_chosen_by_their_type() -> None:
    assert of_type((REFERRER,), "") == [REFERRER]
    assert of_type((REFERRER,), REFERRER.artifact_type) == [REFERRER]
    assert of_type((REFERRER,), "application/other") == []


def test_an_image_under_the_tag_is_not_taken_for_an_index() -> None:
    with pytest.raises(BadDocument, match="should be an index of referrers"):
        referrers_in(describe(b"{}", MANIFEST), b"{}", "app:sha256-abc")


def test_an_index_is_read_back_as_it_was_written() -> None:
    index = with_referrer(NO_REFERRERS, REFERRER)
    data = encode(index)
    assert referrers_in(describe(data, INDEX), data, "it") == index
