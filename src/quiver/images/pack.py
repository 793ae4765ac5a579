"""Packs files into an image without Docker.

The same input gives the same digest: paths are sorted, times are zero, owners are root unless
given. Layers are plain tars, so that a layer's digest is also its diff id and nothing depends
on a version of zlib. Files are streamed; none is held in memory.
"""

import io
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, cast

from quiver.images.entries import (
    Content,
    Directory,
    Entry,
    HostFile,
    Symlink,
    arranged,
    base_entries,
    overlaid,
)
from quiver.images.errors import BadEntry
from quiver.images.layout import Layout
from quiver.images.oci import (
    CONFIG,
    LAYER,
    MANIFEST,
    Descriptor,
    ImageConfig,
    Manifest,
    RootFs,
    RunConfig,
    encode,
    host_platform,
)

_FORMAT = tarfile.PAX_FORMAT
_CHUNK = 1024 * 1024


def pack(
    into: Path,
    *,
    files: Iterable[Entry],
    config: RunConfig,
    below: Sequence[Iterable[Entry]] = (),
) -> Descriptor:
    """Write an image of this machine's platform into the layout and return its manifest.

    `below` are layers under `files`, lowest first: what seldom changes need not be pushed again.
    """
    layout = Layout.at(into)
    lowest, *others = [*below, files]
    stack = [overlaid(base_entries(), lowest), *others]
    layers = tuple(_write_layer(layout, entries) for entries in stack)
    return _write_manifest(layout, layers, config)


def _write_manifest(
    layout: Layout, layers: tuple[Descriptor, ...], config: RunConfig
) -> Descriptor:
    here = host_platform()
    image = ImageConfig(
        architecture=here.architecture,
        os=here.os,
        config=config,
        rootfs=RootFs(type="layers", diff_ids=tuple(layer.digest for layer in layers)),
    )
    manifest = Manifest(
        schema_version=2,
        media_type=MANIFEST,
        config=layout.add(encode(image), CONFIG),
        layers=layers,
    )
    return layout.add(encode(manifest), MANIFEST)


def _write_layer(layout: Layout, entries: Iterable[Entry]) -> Descriptor:
    with layout.new_blob() as blob:
        out = cast("IO[bytes]", blob)
        with tarfile.TarFile(fileobj=out, mode="w", format=_FORMAT, copybufsize=_CHUNK) as tar:
            for entry in arranged(entries):
                _add(tar, entry)
    return blob.descriptor(LAYER)


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    match entry:
        case Directory():
            tar.addfile(_header(entry, tarfile.DIRTYPE, mode=entry.mode))
        case Symlink():
            header = _header(entry, tarfile.SYMTYPE, mode=0o777)
            header.linkname = entry.target
            tar.addfile(header)
        case Content():
            _add_file(tar, entry, io.BytesIO(entry.data), len(entry.data))
        case HostFile():
            _add_host_file(tar, entry)


def _add_host_file(tar: tarfile.TarFile, entry: HostFile) -> None:
    try:
        with entry.source.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            _add_file(tar, entry, file, size)
    except OSError as error:
        raise BadEntry(f"{entry.source} cannot be packed as {entry.path}: {error}.") from error


def _add_file(tar: tarfile.TarFile, entry: Content | HostFile, file: IO[bytes], size: int) -> None:
    header = _header(entry, tarfile.REGTYPE, mode=entry.mode)
    header.size = size
    tar.addfile(header, file)


def _header(entry: Entry, kind: bytes, *, mode: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.path.removeprefix("/"))
    header.type = kind
    header.mode = mode
    header.mtime = 0
    header.uid, header.gid = entry.uid, entry.gid
    return header
