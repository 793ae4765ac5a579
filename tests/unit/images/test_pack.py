"""The same files give the same image, whatever the order, the time and the place."""

import os
import random
import tarfile
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quiver.images import (
    BadEntry,
    Content,
    Descriptor,
    Directory,
    Entry,
    HostFile,
    Layout,
    Manifest,
    RunConfig,
    Symlink,
    base_entries,
    pack,
)
from quiver.images.oci import LAYER, MANIFEST, ImageConfig, decode

names = st.text(alphabet="abcé-_", min_size=1, max_size=120)
modes = st.sampled_from([0o644, 0o755, 0o4755, 0o600])
owners = st.integers(0, 2**21)


@st.composite
def trees(draw: st.DrawFn) -> list[Entry]:
    """Some directories, with files and links in them."""
    entries: list[Entry] = []
    for folder in draw(st.lists(names, max_size=4, unique=True)):
        entries.append(Directory(f"/{folder}", mode=0o711, uid=draw(owners)))
        inside = draw(st.lists(names, max_size=3, unique=True))
        entries += [draw(_leaf(f"/{folder}/{name}")) for name in inside]
    return entries


def _leaf(path: str) -> st.SearchStrategy[Entry]:
    content: st.SearchStrategy[Entry] = st.builds(
        Content, st.just(path), st.binary(max_size=2000), mode=modes, uid=owners, gid=owners
    )
    return content | st.builds(Symlink, st.just(path), names)


def _manifest(layout: Layout, image: Descriptor) -> Manifest:
    return decode(layout.read(image), Manifest, "the manifest")


def _members(into: Path, image: Descriptor) -> list[tarfile.TarInfo]:
    layout = Layout(into)
    (layer,) = _manifest(layout, image).layers
    with tarfile.open(layout.path(layer.digest)) as tar:
        return tar.getmembers()


def _packed(into: Path, *files: Entry) -> dict[str, tarfile.TarInfo]:
    image = pack(into, files=files, config=RunConfig())
    return {f"/{member.name}": member for member in _members(into, image)}


@settings(max_examples=40, deadline=None)
@given(entries=trees(), seed=st.integers())
def test_the_order_of_the_files_does_not_change_the_digest(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], seed: int
) -> None:
    into = tmp_path_factory.mktemp("images")
    shuffled = random.Random(seed).sample(entries, len(entries))
    one = pack(into / "one", files=entries, config=RunConfig())
    other = pack(into / "other", files=shuffled, config=RunConfig())
    assert one == other


@settings(max_examples=40, deadline=None)
@given(entries=trees())
def test_a_layer_holds_what_was_put_in(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry]
) -> None:
    into = tmp_path_factory.mktemp("images")
    (layer,) = _manifest(Layout(into), pack(into, files=entries, config=RunConfig())).layers
    with tarfile.open(Layout(into).path(layer.digest)) as tar:
        for entry in entries:
            member = tar.getmember(entry.path[1:])
            assert (member.uid, member.gid, member.mtime) == (entry.uid, entry.gid, 0)
            if isinstance(entry, Content):
                file = tar.extractfile(member)
                assert file
                assert (file.read(), member.mode) == (entry.data, entry.mode)
            if isinstance(entry, Symlink):
                assert member.linkname == entry.target


def test_the_time_of_a_host_file_does_not_change_the_digest(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"binary")
    files = [HostFile("/program", program, mode=0o755)]
    before = pack(tmp_path / "one", files=files, config=RunConfig())
    os.utime(program, (1, 1))
    program.chmod(0o600)
    assert pack(tmp_path / "other", files=files, config=RunConfig()) == before


def test_a_large_file_is_not_held_in_memory(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    tracemalloc.start()
    pack(tmp_path / "images", files=[HostFile("/large", large)], config=RunConfig())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024


def test_no_file_has_a_time_or_the_name_of_an_owner(tmp_path: Path) -> None:
    packed = _packed(tmp_path, Content("/hello", b"hi"))
    assert {member.mtime for member in packed.values()} == {0}
    assert {member.uname + member.gname for member in packed.values()} == {""}


def test_every_image_has_users_and_a_place_for_temporary_files(tmp_path: Path) -> None:
    packed = _packed(tmp_path, Content("/hello", b"hi"))
    assert packed["/tmp"].mode == 0o1777
    assert {"/etc/passwd", "/etc/group"} <= packed.keys()
    assert packed["/home/nonroot"].uid == 65532


def test_an_image_has_the_certificates_of_a_host_that_has_some(tmp_path: Path) -> None:
    paths = {entry.path for entry in base_entries(Path(__file__))}
    assert "/etc/ssl/certs/ca-certificates.crt" in paths
    assert len(base_entries(tmp_path / "absent")) == len(paths) - 1


def test_a_given_file_wins_over_the_one_every_image_has(tmp_path: Path) -> None:
    assert _packed(tmp_path, Content("/etc/passwd", b"me"))["/etc/passwd"].size == 2


def test_missing_parents_are_added_before_their_children(tmp_path: Path) -> None:
    files = [Content("/z/y/x", b""), Content("/a/b/c", b""), Content("/a-b/c", b"")]
    image = pack(tmp_path, files=files, config=RunConfig())
    seen = {"."}
    for member in _members(tmp_path, image):
        assert str(Path(member.name).parent) in seen
        seen.add(member.name)


def test_layers_are_stacked_as_given_and_only_the_lowest_has_the_base(tmp_path: Path) -> None:
    image = pack(
        tmp_path,
        below=[[Content("/low", b"")], [Content("/middle", b"")]],
        files=[Content("/high", b"")],
        config=RunConfig(),
    )
    layout = Layout(tmp_path)
    contents = []
    for layer in _manifest(layout, image).layers:
        with tarfile.open(layout.path(layer.digest)) as tar:
            contents.append(set(tar.getnames()))
    assert "low" in contents[0]
    assert "tmp" in contents[0]
    assert contents[1:] == [{"middle"}, {"high"}]


def test_the_image_says_how_to_run_it(tmp_path: Path) -> None:
    config = RunConfig(
        entrypoint=("/app",), cmd=("run",), env=("A=1",), user="65532", working_dir="/tmp"
    )
    image = pack(tmp_path, files=[Content("/app", b"", mode=0o755)], config=config)
    manifest = _manifest(Layout(tmp_path), image)
    stored = msgspec.json.decode(Layout(tmp_path).read(manifest.config))
    assert stored["config"] == {
        "User": "65532",
        "Env": ["A=1"],
        "Entrypoint": ["/app"],
        "Cmd": ["run"],
        "WorkingDir": "/tmp",
    }


def test_every_part_of_an_image_has_the_type_of_the_specification(tmp_path: Path) -> None:
    image = pack(tmp_path, files=[], config=RunConfig())
    manifest = _manifest(Layout(tmp_path), image)
    config = decode(Layout(tmp_path).read(manifest.config), ImageConfig, "the config")
    assert (image.media_type, manifest.media_type) == (MANIFEST, MANIFEST)
    assert [layer.media_type for layer in manifest.layers] == [LAYER]
    assert config.rootfs.diff_ids == tuple(layer.digest for layer in manifest.layers)


@pytest.mark.parametrize("path", ["etc/passwd", "/", "", "/a/../b", "/a/", "//a", "/a\0b"])
def test_an_impossible_path_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadEntry, match="cannot be a path in an image"):
        _packed(tmp_path, Content(path, b""))


def test_two_files_at_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEntry, match="/a is in the image twice"):
        _packed(tmp_path, Content("/a", b"1"), Content("/a", b"2"))


def test_the_same_file_twice_is_one_file(tmp_path: Path) -> None:
    assert _packed(tmp_path, Content("/a", b"1"), Content("/a", b"1"))["/a"].size == 1


def test_a_file_below_a_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadEntry, match="/bin is not a directory there"):
        _packed(tmp_path, Symlink("/bin", "usr/bin"), Content("/bin/sh", b""))


def test_a_file_that_the_host_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadEntry, match="absent cannot be packed as /a"):
        _packed(tmp_path / "images", HostFile("/a", tmp_path / "absent"))
