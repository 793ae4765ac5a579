"""Programs from their projects' official releases, checked against the published checksums.

A host that does not answer within seconds is not asked again: without internet access the
programs are built instead, and nobody should wait long to learn that.
"""

import http.client
import re
import shutil
import socket
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from quiver.devcluster.binarycache import sha256_of
from quiver.devcluster.catalog import Binary, BinaryError, Upstream
from quiver.devcluster.retries import Retries

Note = Callable[[str], None]
Answer = TypeVar("Answer")

OFF = "off"

_CONNECT_SECONDS = 3.0
_READ_SECONDS = 30.0
_CHUNK = 1024 * 1024
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class ReleaseError(Exception):
    """The release cannot be used; the message says why. The program can still be built."""


class _TryAgain(Exception):
    def __init__(self, why: str, *, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class Releases:
    """`base` replaces scheme and host of every URL, for mirrors; `off` means never download."""

    def __init__(
        self,
        downloads: Path,
        *,
        arch: str,
        base: str = "",
        retries: Retries | None = None,
        patience: float = _CONNECT_SECONDS,
    ) -> None:
        if base and base != OFF and not base.startswith(("http://", "https://")):
            raise BinaryError(
                f"QUIVER_RELEASES is {base!r}: set it to the http(s) address of a mirror, to 'off'"
                " to build everything, or leave it unset"
            )
        self._downloads = downloads
        self._arch = arch
        self._base = base.rstrip("/")
        self._retries = retries or Retries()
        self._patience = patience
        self._answering: dict[str, bool] = {}

    def unreachable_host(self, upstream: Upstream) -> str | None:
        """The host that this upstream's release would come from, if it does not answer."""
        if not self.may_have(upstream):
            return None
        assert upstream.release
        url = self._mirrored(upstream.release.url)
        host = urlsplit(url).netloc
        if host not in self._answering:
            self._answering[host] = _answers(_first_hop(url), self._patience)
        return None if self._answering[host] else host

    def may_have(self, upstream: Upstream) -> bool:
        return upstream.release is not None and self._base != OFF

    def by_url(self, binaries: Sequence[Binary]) -> dict[str, list[Binary]]:
        """Several programs may come in one archive."""
        grouped: dict[str, list[Binary]] = {}
        for binary in binaries:
            assert binary.upstream.release
            url = self._mirrored(self._filled(binary.upstream.release.url, binary))
            grouped.setdefault(url, []).append(binary)
        return grouped

    def fetch(
        self, url: str, binaries: Sequence[Binary], into: Path, note: Note
    ) -> dict[str, Path]:
        """Download `url`, check it, and unpack the `binaries` in it; returns name to file."""
        sha256 = self._published_checksum(url, binaries[0])
        archive = self._download(url, sha256, note)
        files = {binary.name: self._unpacked(archive, binary, into) for binary in binaries}
        archive.unlink()
        return files

    def _published_checksum(self, url: str, binary: Binary) -> str:
        assert binary.upstream.release
        source = self._mirrored(self._filled(binary.upstream.release.checksums, binary))
        text = self._persistently(source, lambda: _text(source))
        if sha256 := published_checksum(text, Path(urlsplit(url).path).name):
            return sha256
        raise ReleaseError(f"{source} has no checksum for {url}")

    def _download(self, url: str, sha256: str, note: Note) -> Path:
        self._downloads.mkdir(parents=True, exist_ok=True)
        # Named by the checksum: a part of anything else is never continued.
        part = self._downloads / f"{sha256[:16]}-{Path(urlsplit(url).path).name}.part"
        continued = part.exists()
        self._persistently(url, lambda: _continue_download(url, part, sha256, note))
        if sha256_of(part) == sha256:
            return part
        part.unlink()
        if continued:
            return self._download(url, sha256, note)
        raise ReleaseError(f"{url} does not have the checksum that its project published")

    def _persistently(self, url: str, ask: Callable[[], Answer]) -> Answer:
        for attempt in range(1, self._retries.tries + 1):
            try:
                return _asked(url, ask)
            except _TryAgain as busy:
                if attempt == self._retries.tries:
                    raise ReleaseError(f"{busy}, {attempt} times") from busy
                self._retries.wait(attempt, asked=busy.after)
        raise AssertionError

    def _unpacked(self, archive: Path, binary: Binary, into: Path) -> Path:
        assert binary.upstream.release
        target = into / binary.name
        member = binary.upstream.release.member
        if member is None:
            shutil.copyfile(archive, target)
        else:
            _extract(archive, self._filled(member, binary), target)
        return target

    def _filled(self, template: str, binary: Binary) -> str:
        return template.format(version=binary.version, arch=self._arch, name=binary.name)

    def _mirrored(self, url: str) -> str:
        return f"{self._base}{urlsplit(url).path}" if self._base else url


def published_checksum(text: str, file: str) -> str | None:
    """From a file of `<sha256>  <name>` lines, or one that is just the checksum."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for fields in lines:
        if _SHA256.fullmatch(fields[0]) and _names(fields[1:], file, alone=len(lines) == 1):
            return fields[0].lower()
    return None


def _names(fields: list[str], file: str, *, alone: bool) -> bool:
    return fields[0].lstrip("*").rpartition("/")[2] == file if fields else alone


def _asked(url: str, ask: Callable[[], Answer]) -> Answer:
    """Sort what can go wrong into worth another try, and not."""
    try:
        return ask()
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (416, 429) or error.code >= 500:
                after = _seconds(error.headers.get("Retry-After"))
                raise _TryAgain(f"{url} answered {error.code}", after=after) from error
            raise ReleaseError(f"{url} answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise ReleaseError(f"{url} cannot be reached ({error.reason})") from error
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgain(f"{url} broke off ({error})") from error


def _text(url: str) -> str:
    with _open(url) as answer:
        return str(answer.read(_CHUNK).decode(errors="replace"))


def _continue_download(url: str, part: Path, sha256: str, note: Note) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have and sha256_of(part) == sha256:
        return
    try:
        with _open(url, start=have) as answer:
            _append(answer, part, have if answer.status == 206 else 0, note)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            part.unlink()
        raise


def _append(answer: http.client.HTTPResponse, part: Path, have: int, note: Note) -> None:
    total = have + int(answer.headers.get("Content-Length") or 0)
    with part.open("ab" if have else "wb") as file:
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            have += len(chunk)
            note(f"{have // _CHUNK} of {total // _CHUNK} MB")
    # A read of a given size does not tell a body that ended early from one that is complete.
    if have < total:
        raise http.client.IncompleteRead(b"", total - have)


def _open(url: str, *, start: int = 0) -> http.client.HTTPResponse:
    headers = {"User-Agent": "quiver"} | ({"Range": f"bytes={start}-"} if start else {})
    # The scheme is http or https: it comes from the catalog or was checked in QUIVER_RELEASES.
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    answer = urllib.request.urlopen(request, timeout=_READ_SECONDS)  # noqa: S310
    assert isinstance(answer, http.client.HTTPResponse)
    return answer


def _extract(archive: Path, member: str, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for entry in tar:
            if entry.isfile() and entry.name.removeprefix("./") == member:
                source = tar.extractfile(entry)
                assert source
                with source, target.open("wb") as file:
                    shutil.copyfileobj(source, file)
                return
    raise ReleaseError(f"{archive.name} has no {member} in it")


def _seconds(retry_after: str | None) -> float:
    """A date instead of a number is left to the usual backoff."""
    return float(retry_after) if retry_after and retry_after.isdigit() else 0.0


def _first_hop(url: str) -> tuple[str, int]:
    """Whom a connection is made to: the host itself, or the proxy in front of it."""
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _answers(address: tuple[str, int], patience: float) -> bool:
    answered = threading.Event()

    def connect() -> None:
        with suppress(OSError), socket.create_connection(address, timeout=patience):
            answered.set()

    # In a thread, because looking up a name has no timeout of its own.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(patience)
    return answered.is_set()
