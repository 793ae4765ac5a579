"""The client and the registry that the dev cluster runs understand each other."""

import asyncio
import os
import socket
import subprocess
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from quiver.devcluster.binaries import Binaries
from quiver.images import (
    Artifact,
    ArtifactFile,
    BadDocument,
    BadReference,
    Content,
    Descriptor,
    HostFile,
    Index,
    Layout,
    Manifest,
    NotFound,
    Reference,
    Refused,
    Registry,
    RunConfig,
    pack,
)
from quiver.images.oci import INDEX, LAYER, decode, describe, digest_of, encode

WEAVIATE = Reference.parse("cr.weaviate.io/semitechnologies/weaviate:1.27.0")
CONFIG = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {storage}}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


class Counting(Registry):
    """Counts what is really sent."""

    uploads = 0

    async def _upload(self, repository: str, digest: str, body: bytes | Path) -> None:
        self.uploads += 1
        await super()._upload(repository, digest, body)


@pytest.fixture(scope="session")
def registry_binary() -> Path:
    return Binaries.default().ensure(["registry"])["registry"]


@pytest.fixture
def address(registry_binary: Path, tmp_path: Path) -> Iterator[str]:
    """An empty registry on a free port, for one test."""
    port = _free_port()
    config = tmp_path / "registry.yaml"
    config.write_text(CONFIG.format(storage=tmp_path / "storage", port=port))
    command = [str(registry_binary), "serve", str(config)]
    environment = {**os.environ, "OTEL_TRACES_EXPORTER": "none"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
async def registry(address: str) -> AsyncIterator[Counting]:
    async with Counting(address) as client:
        await client.ping()
        yield client


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.at(tmp_path / "images")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _packed(layout: Layout, content: bytes = b"hello") -> Descriptor:
    return pack(layout.root, files=[Content("/hello", content)], config=RunConfig())


def _signature(
    text: bytes = b"signed", kind: str = "application/vnd.example.signature"
) -> Artifact:
    file = ArtifactFile(media_type="text/plain", data=text)
    return Artifact(artifact_type=kind, files=(file,), annotations={"who": "me"})


async def test_a_pushed_image_is_read_back_unchanged(registry: Registry, layout: Layout) -> None:
    image = _packed(layout)
    layout.name(image, WEAVIATE)
    await registry.push(layout, WEAVIATE)
    found, data = await registry.manifest("cr.weaviate.io/semitechnologies/weaviate", "1.27.0")
    assert (found, data) == (image, layout.read(image))
    for blob in decode(data, Manifest, "the manifest").blobs:
        stored = await registry.blob(WEAVIATE.mirrored_repository, blob)
        assert stored == layout.read(blob)


async def test_an_image_is_found_by_its_digest_too(registry: Registry, layout: Layout) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app")
    assert (await registry.manifest("app", image.digest))[0] == image


async def test_what_is_there_is_not_sent_again(registry: Counting, layout: Layout) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app", "1")
    assert registry.uploads == 2
    await registry.push_image(layout, image, "app", "2")
    assert registry.uploads == 2


async def test_a_tag_moves_to_the_image_pushed_last(registry: Registry, layout: Layout) -> None:
    for content in (b"old", b"new"):
        await registry.push_image(layout, _packed(layout, content), "app", "latest")
    assert (await registry.manifest("app", "latest"))[0] == _packed(layout, b"new")


async def test_a_large_layer_is_streamed(
    registry: Registry, layout: Layout, tmp_path: Path
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    large = HostFile("/large", tmp_path / "large")
    image = pack(layout.root, files=[large], config=RunConfig())
    tracemalloc.start()
    await registry.push_image(layout, image, "app", "1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024


async def test_an_index_is_pushed_with_all_its_images(registry: Registry, layout: Layout) -> None:
    images = (_packed(layout, b"one"), _packed(layout, b"other"))
    index = layout.add(encode(Index(schema_version=2, media_type=INDEX, manifests=images)), INDEX)
    await registry.push_image(layout, index, "app", "all")
    assert (await registry.manifest("app", "all"))[0] == index
    for image in images:
        assert (await registry.manifest("app", image.digest))[0] == image


async def test_a_name_with_the_digest_of_another_image_is_refused(
    registry: Registry, layout: Layout
) -> None:
    other = Reference.parse(f"app@{digest_of(b'other')}")
    with pytest.raises(BadReference, match="cannot name the image"):
        await registry.push(layout, other, image=_packed(layout))


async def test_tags_and_repositories_of_all_pages_are_listed(
    registry: Registry, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quiver.images.endpoints._PAGE", 2)
    names = [f"app-{number}" for number in range(5)]
    for name in names:
        await registry.push_image(layout, _packed(layout), name, "1")
        await registry.push_image(layout, _packed(layout), "many", name)
    assert sorted(await registry.tags("many")) == names
    assert sorted(await registry.catalog()) == [*names, "many"]


async def test_a_prefix_is_unseen_by_its_user(
    registry: Registry, address: str, layout: Layout
) -> None:
    await registry.push_image(layout, _packed(layout), "outside", "1")
    async with Registry(address, prefix="/mirror/") as below:
        await below.push(layout, WEAVIATE, image=_packed(layout))
        assert await below.catalog() == [WEAVIATE.mirrored_repository]
        assert await below.tags(WEAVIATE.mirrored_repository) == ["1.27.0"]
    assert await registry.tags(f"mirror/{WEAVIATE.mirrored_repository}") == ["1.27.0"]


async def test_what_is_absent_is_not_found(registry: Registry) -> None:
    absent = describe(b"absent", LAYER)
    with pytest.raises(NotFound, match="MANIFEST_UNKNOWN"):
        await registry.manifest("app", "1")
    with pytest.raises(NotFound, match="NAME_UNKNOWN"):
        await registry.tags("app")
    with pytest.raises(NotFound, match="BLOB_UNKNOWN"):
        await registry.blob("app", absent)
    assert not await registry.has_blob("app", absent.digest)


async def test_an_upload_with_other_bytes_is_refused(registry: Registry) -> None:
    with pytest.raises(Refused, match="DIGEST_INVALID"):
        await registry.put_blob("app", digest_of(b"promised"), b"sent")


async def test_a_manifest_without_its_blobs_is_refused(registry: Registry, layout: Layout) -> None:
    image = _packed(layout)
    with pytest.raises(Refused, match="MANIFEST_BLOB_UNKNOWN"):
        await registry.put_manifest("app", "1", layout.read(image), image.media_type)


async def test_an_image_has_no_referrers_before_one_is_attached(
    registry: Registry, layout: Layout
) -> None:
    image = _packed(layout)
    assert await registry.referrers("app", image.digest) == []
    await registry.push_image(layout, image, "app", "1")
    assert await registry.referrers("app", image.digest) == []


async def test_an_attached_artifact_is_found_with_its_content(
    registry: Registry, layout: Layout
) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app", "1")
    attached = await registry.attach("app", image, _signature())
    (found,) = await registry.referrers("app", image.digest)
    assert found == attached
    assert found.annotations == {"who": "me"}
    manifest = decode((await registry.manifest("app", found.digest))[1], Manifest, "it")
    assert manifest.subject == image
    assert await registry.blob("app", manifest.layers[0]) == b"signed"


async def test_artifacts_are_found_by_their_type(registry: Registry, layout: Layout) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app", "1")
    await registry.attach("app", image, _signature())
    bill = await registry.attach("app", image, _signature(b"parts", kind="application/spdx+json"))
    kind = "application/spdx+json"
    assert await registry.referrers("app", image.digest, artifact_type=kind) == [bill]


async def test_an_artifact_attached_twice_is_listed_once(
    registry: Registry, layout: Layout
) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app", "1")
    for _ in range(2):
        await registry.attach("app", image, _signature())
    assert len(await registry.referrers("app", image.digest)) == 1


async def test_artifacts_attached_at_once_are_all_listed(
    registry: Registry, layout: Layout
) -> None:
    image = _packed(layout)
    await registry.push_image(layout, image, "app", "1")
    artifacts = [_signature(str(number).encode()) for number in range(8)]
    await asyncio.gather(*(registry.attach("app", image, one) for one in artifacts))
    assert len(await registry.referrers("app", image.digest)) == 8


async def test_an_image_under_the_tag_for_referrers_is_not_overwritten(
    registry: Registry, layout: Layout
) -> None:
    image, other = _packed(layout), _packed(layout, b"other")
    tag = image.digest.replace(":", "-")
    await registry.push_image(layout, image, "app", "1")
    await registry.push_image(layout, other, "app", tag)
    with pytest.raises(BadDocument, match="should be an index of referrers"):
        await registry.attach("app", image, _signature())
    assert (await registry.manifest("app", tag))[0] == other
