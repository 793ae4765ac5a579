"""Images in a directory: the OCI image layout.

A blob's name is its digest, so a blob is written once and never changes. `index.json` is the
only file that does; it is replaced as a whole, under a lock on the directory.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from quiver.images.errors import Corrupt, Missing
from quiver.images.oci import INDEX, Descriptor, Index, decode, digest_of, encode
from quiver.images.reference import Reference, is_digest

FULL_NAME = "io.containerd.image.name"
TAG_NAME = "org.opencontainers.image.ref.name"

_MARKER = b'{"imageLayoutVersion":"1.0.0"}'
_EMPTY_INDEX = Index(schema_version=2, media_type=INDEX, manifests=())


class BlobWriter:
    """Hashes what passes through. A blob can be larger than memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self.size

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def descriptor(self, media_type: str) -> Descriptor:
        return Descriptor(media_type=media_type, digest=self.digest, size=self.size)


class Layout:
    """One directory of images, shared by all processes that open it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def at(cls, root: Path) -> "Layout":
        """Open the layout, made empty where there is none."""
        layout = cls(root)
        layout._blobs.mkdir(parents=True, exist_ok=True)
        if not (root / "oci-layout").exists():
            layout._replace(root / "oci-layout", _MARKER)
        return layout

    def path(self, digest: str) -> Path:
        """Where the blob is or would be."""
        if not is_digest(digest) or not digest.startswith("sha256:"):
            raise Missing(f"{digest!r} cannot be in {self.root}: only sha256 digests are kept.")
        return self._blobs / digest.removeprefix("sha256:")

    def has(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def read(self, descriptor: Descriptor) -> bytes:
        """A small blob, checked against its digest."""
        data = self.existing(descriptor.digest).read_bytes()
        _require_same(descriptor.digest, digest_of(data), f"a blob in {self.root}")
        return data

    def verify(self, descriptor: Descriptor) -> None:
        """Raise unless the blob is here, whole and unchanged."""
        with self.existing(descriptor.digest).open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
        _require_same(descriptor.digest, f"sha256:{actual}", f"a blob in {self.root}")

    def add(self, data: bytes, media_type: str) -> Descriptor:
        with self.new_blob() as blob:
            blob.write(data)
        return blob.descriptor(media_type)

    @contextmanager
    def new_blob(self, expected: str = "") -> Iterator[BlobWriter]:
        """A blob to write; it appears when the block ends well, under its own digest."""
        with self._partial() as file:
            blob = BlobWriter(file)
            yield blob
            if expected:
                _require_same(expected, blob.digest, "a blob that was to be stored")
            _publish(file, self.path(blob.digest))

    def index(self) -> Index:
        try:
            data = (self.root / "index.json").read_bytes()
        except FileNotFoundError:
            return _EMPTY_INDEX
        return decode(data, Index, f"index.json in {self.root}")

    def name(self, image: Descriptor, reference: Reference) -> None:
        """Let the reference mean this image, whatever it meant before."""
        annotations = {FULL_NAME: str(reference)} | (
            {TAG_NAME: reference.tag} if reference.tag else {}
        )
        with self._locked():
            others = [m for m in self.index().manifests if _name_of(m) != str(reference)]
            named = _annotated(image, annotations)
            self._write_index((*others, named))

    def names(self) -> dict[Reference, Descriptor]:
        manifests = self.index().manifests
        return {Reference.parse(_name_of(m)): m for m in manifests if _name_of(m)}

    def resolve(self, reference: Reference) -> Descriptor:
        found = self.names().get(reference)
        if found is None:
            known = ", ".join(map(str, self.names())) or "no image at all"
            raise Missing(f"{self.root} holds no image named {reference}. It holds {known}.")
        return found

    @property
    def _blobs(self) -> Path:
        return self.root / "blobs" / "sha256"

    def existing(self, digest: str) -> Path:
        path = self.path(digest)
        if not path.is_file():
            raise Missing(f"{self.root} lacks the blob {digest}; pack or load its image again.")
        return path

    def _write_index(self, manifests: tuple[Descriptor, ...]) -> None:
        index = Index(schema_version=2, media_type=INDEX, manifests=manifests)
        self._replace(self.root / "index.json", encode(index))

    def _replace(self, path: Path, data: bytes) -> None:
        with self._partial() as file:
            file.write(data)
            _publish(file, path)

    @contextmanager
    def _partial(self) -> Iterator[IO[bytes]]:
        with tempfile.NamedTemporaryFile(dir=self.root, prefix=".partial-", delete=False) as file:
            try:
                yield file
            finally:
                Path(file.name).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _publish(file: IO[bytes], path: Path) -> None:
    file.flush()
    os.fchmod(file.fileno(), 0o644)
    # Before the rename: a crash must not leave a short file under a digest.
    os.fsync(file.fileno())
    Path(file.name).replace(path)


def _name_of(manifest: Descriptor) -> str:
    return manifest.annotations.get(FULL_NAME, "")


def _annotated(image: Descriptor, annotations: dict[str, str]) -> Descriptor:
    return Descriptor(
        media_type=image.media_type,
        digest=image.digest,
        size=image.size,
        platform=image.platform,
        annotations=annotations,
    )


def _require_same(promised: str, actual: str, what: str) -> None:
    if promised != actual:
        raise Corrupt(f"{what} should be {promised}, but its bytes are {actual}.")
