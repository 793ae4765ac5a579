"""A layout never shows half a blob, and never the wrong one."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quiver.images import Corrupt, Descriptor, Layout, Missing, Reference
from quiver.images.oci import MANIFEST, digest_of

APP = Reference.parse("example.com/app:1")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.at(tmp_path / "images")


def _files(layout: Layout) -> set[str]:
    return {str(path.relative_to(layout.root)) for path in layout.root.rglob("*") if path.is_file()}


def test_a_new_layout_says_what_it_is(layout: Layout) -> None:
    assert (layout.root / "oci-layout").read_text() == '{"imageLayoutVersion":"1.0.0"}'


def test_a_blob_is_found_under_its_digest(layout: Layout) -> None:
    blob = layout.add(b"hello", "text/plain")
    assert blob == Descriptor(media_type="text/plain", digest=digest_of(b"hello"), size=5)
    assert layout.read(blob) == b"hello"


def test_a_blob_can_be_read_by_other_users(layout: Layout) -> None:
    blob = layout.add(b"hello", "text/plain")
    assert layout.path(blob.digest).stat().st_mode & 0o777 == 0o644


def test_a_write_that_fails_leaves_nothing(layout: Layout) -> None:
    with contextlib.suppress(ZeroDivisionError), layout.new_blob() as blob:
        blob.write(b"half")
        blob.write(bytes(1 // 0))
    assert _files(layout) == {"oci-layout"}


def test_a_blob_other_than_expected_is_not_kept(layout: Layout) -> None:
    with pytest.raises(Corrupt), layout.new_blob(digest_of(b"this")) as blob:
        blob.write(b"that")
    assert _files(layout) == {"oci-layout"}


def test_a_changed_blob_is_noticed(layout: Layout) -> None:
    blob = layout.add(b"hello", "text/plain")
    layout.verify(blob)
    layout.path(blob.digest).write_bytes(b"jello")
    with pytest.raises(Corrupt):
        layout.read(blob)
    with pytest.raises(Corrupt):
        layout.verify(blob)


def test_a_missing_blob_is_named(layout: Layout) -> None:
    absent = Descriptor(media_type="a/b", digest=digest_of(b"?"), size=1)
    with pytest.raises(Missing, match=absent.digest):
        layout.read(absent)


@pytest.mark.parametrize(
    "digest", ["", "sha256:../../etc/passwd", "md5:abc", "sha512:" + "0" * 128]
)
def test_what_is_no_sha256_digest_never_becomes_a_path(layout: Layout, digest: str) -> None:
    with pytest.raises(Missing):
        layout.path(digest)


def test_a_name_means_the_image_that_had_it_last(layout: Layout) -> None:
    old, new = layout.add(b"old", MANIFEST), layout.add(b"new", MANIFEST)
    layout.name(old, APP)
    layout.name(new, APP)
    assert layout.resolve(APP).digest == new.digest
    assert len(layout.index().manifests) == 1


def test_an_unknown_name_is_answered_with_those_that_are_known(layout: Layout) -> None:
    layout.name(layout.add(b"x", MANIFEST), APP)
    with pytest.raises(Missing, match=r"It holds example\.com/app:1"):
        layout.resolve(Reference.parse("other"))


def test_names_given_at_once_are_all_kept(layout: Layout) -> None:
    image = layout.add(b"x", MANIFEST)
    names = [Reference.parse(f"app:{number}") for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: Layout(layout.root).name(image, name), names))
    assert set(layout.names()) == set(names)
