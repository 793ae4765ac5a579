"""Archives of several tools and times can be loaded; damaged ones say what is wrong."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quiver.images import (
    BadArchive,
    Corrupt,
    Descriptor,
    HostFile,
    Layout,
    Manifest,
    Reference,
    RunConfig,
    import_archive,
    pack,
)
from quiver.images.oci import INDEX, LAYER, MANIFEST, decode, digest_of, host_platform

APP = Reference.parse("example.com/app:1")
HERE = {"os": "linux", "architecture": host_platform().architecture}


def _tar(path: Path, files: Mapping[str, bytes | str], mode: str = "w") -> Path:
    """Files, and links where the value is text."""
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return path


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _saved(layers: dict[str, bytes], names: list[str] | None) -> dict[str, bytes | str]:
    diff_ids = [digest_of(layer) for layer in layers.values()]
    config = _json({"rootfs": {"type": "layers", "diff_ids": diff_ids}, "os": "linux"})
    manifest = [{"Config": "config.json", "RepoTags": names, "Layers": list(layers)}]
    return {**layers, "config.json": config, "manifest.json": _json(manifest)}


def _blob_name(data: bytes) -> str:
    return "blobs/sha256/" + digest_of(data).removeprefix("sha256:")


def _about(data: bytes, media_type: str, **more: Any) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data), **more}


def _image(layer: bytes) -> tuple[bytes, dict[str, bytes | str]]:
    config = b'{"os":"linux"}'
    manifest = _json(
        {
            "schemaVersion": 2,
            "config": _about(config, "application/vnd.oci.image.config.v1+json"),
            "layers": [_about(layer, LAYER)],
        }
    )
    return manifest, {_blob_name(data): data for data in (config, layer, manifest)}


def _index(*manifests: dict[str, Any]) -> bytes:
    return _json({"schemaVersion": 2, "manifests": manifests})


def _manifest(layout: Layout, image: Descriptor) -> Manifest:
    return decode(layout.read(image), Manifest, "the manifest")


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_what_docker_save_wrote_is_found_under_its_names(tmp_path: Path, mode: str) -> None:
    files = _saved({"a/layer.tar": b"one", "b/layer.tar": b"two"}, ["app:1", "ghcr.io/x/app:2"])
    found = import_archive(_tar(tmp_path / "x.tar", files, mode), tmp_path / "images")
    names = [Reference.parse("app:1"), Reference.parse("ghcr.io/x/app:2")]
    layout = Layout(tmp_path / "images")
    assert [one.reference for one in found] == names == list(layout.names())
    layers = _manifest(layout, layout.resolve(names[0])).layers
    assert [layout.read(layer) for layer in layers] == [b"one", b"two"]


def test_an_image_without_a_name_is_kept_for_the_caller_to_name(tmp_path: Path) -> None:
    archive = _tar(tmp_path / "x.tar", _saved({"layer.tar": b"one"}, None))
    (found,) = import_archive(archive, tmp_path / "images")
    assert found.reference is None
    assert _manifest(Layout(tmp_path / "images"), found.image).layers


def test_a_layer_that_docker_save_wrote_as_a_link_is_followed(tmp_path: Path) -> None:
    files = _saved({"a/layer.tar": b"same", "b/layer.tar": b"same"}, ["app:1"])
    files["b/layer.tar"] = "../a/layer.tar"
    (found,) = import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")
    layers = _manifest(Layout(tmp_path / "images"), found.image).layers
    assert [layer.digest for layer in layers] == [digest_of(b"same")] * 2


def test_a_compressed_layer_is_described_as_compressed(tmp_path: Path) -> None:
    files = _saved({"layer.tar.gz": b"\x1f\x8b rest"}, ["app:1"])
    (found,) = import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")
    assert (
        _manifest(Layout(tmp_path / "images"), found.image).layers[0].media_type.endswith("+gzip")
    )


def test_a_damaged_layer_of_docker_save_is_noticed(tmp_path: Path) -> None:
    files = _saved({"layer.tar": b"right"}, ["app:1"]) | {"layer.tar": b"wrong"}
    with pytest.raises(BadArchive, match="is damaged; save the image again"):
        import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")


def test_a_missing_layer_of_docker_save_is_noticed(tmp_path: Path) -> None:
    files = _saved({"layer.tar": b"right"}, ["app:1"])
    del files["layer.tar"]
    with pytest.raises(BadArchive, match=r"it lacks layer\.tar"):
        import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_layout_in_a_tar_is_loaded_with_its_digests(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "source"
    image = pack(source, files=[HostFile("/app", Path(__file__))], config=RunConfig())
    Layout(source).name(image, APP)
    with tarfile.open(tmp_path / "x.tar", mode) as tar:  # type: ignore[call-overload]
        tar.add(source, ".")
    (found,) = import_archive(tmp_path / "x.tar", tmp_path / "images")
    assert (found.image.digest, found.reference) == (image.digest, APP)
    assert Layout(tmp_path / "images").resolve(APP).digest == image.digest


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        ({"io.containerd.image.name": "ghcr.io/x/app:2"}, "ghcr.io/x/app:2"),
        ({"org.opencontainers.image.ref.name": "docker.io/x/app:3"}, "docker.io/x/app:3"),
        ({"org.opencontainers.image.ref.name": "latest"}, None),
        ({}, None),
    ],
)
def test_the_names_of_other_tools_are_understood(
    tmp_path: Path, annotations: dict[str, str], name: str | None
) -> None:
    manifest, files = _image(b"layer")
    files["index.json"] = _index(_about(manifest, MANIFEST, annotations=annotations))
    (found,) = import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")
    assert (str(found.reference) if found.reference else None) == name


def test_of_many_platforms_of_which_one_was_saved_that_one_is_loaded(tmp_path: Path) -> None:
    manifest, files = _image(b"layer")
    absent = _about(b"absent", MANIFEST, platform={"os": "linux", "architecture": "s390x"})
    inner = _index(absent, _about(manifest, MANIFEST, platform=HERE))
    files |= {_blob_name(inner): inner, "index.json": _index(_about(inner, INDEX))}
    (found,) = import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")
    assert found.image.digest == digest_of(manifest)


def test_an_index_that_was_saved_whole_stays_one(tmp_path: Path) -> None:
    manifest, files = _image(b"layer")
    inner = _index(_about(manifest, MANIFEST, platform=HERE))
    files |= {_blob_name(inner): inner, "index.json": _index(_about(inner, INDEX))}
    (found,) = import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")
    assert found.image.digest == digest_of(inner)


def test_an_image_for_other_machines_only_is_refused(tmp_path: Path) -> None:
    inner = _index(_about(b"absent", MANIFEST, platform={"os": "linux", "architecture": "s390x"}))
    files = {_blob_name(inner): inner, "index.json": _index(_about(inner, INDEX))}
    with pytest.raises(BadArchive, match="it has no image for linux/"):
        import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")


def test_a_blob_with_the_wrong_bytes_is_refused(tmp_path: Path) -> None:
    manifest, files = _image(b"layer")
    files |= {"index.json": _index(_about(manifest, MANIFEST)), _blob_name(b"layer"): b"other"}
    with pytest.raises(Corrupt):
        import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")


def test_an_archive_that_lacks_a_blob_is_refused(tmp_path: Path) -> None:
    manifest, files = _image(b"layer")
    del files[_blob_name(b"layer")]
    files["index.json"] = _index(_about(manifest, MANIFEST))
    with pytest.raises(BadArchive, match="it lacks the blob sha256:"):
        import_archive(_tar(tmp_path / "x.tar", files), tmp_path / "images")


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    files = _saved({"layer.tar": bytes(range(256)) * 4000}, ["app:1"])
    whole = _tar(tmp_path / "x.tar.gz", files, "w:gz").read_bytes()
    (tmp_path / "x.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadArchive):
        import_archive(tmp_path / "x.tar.gz", tmp_path / "images")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8b"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(BadArchive, match="cannot be read as a tar archive"):
        import_archive(tmp_path / "x.tar", tmp_path / "images")


def test_a_tar_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match=r"neither index\.json nor manifest\.json"):
        import_archive(_tar(tmp_path / "x.tar", {"readme": b"hi"}), tmp_path / "images")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match=r"absent\.tar"):
        import_archive(tmp_path / "absent.tar", tmp_path / "images")
