"""Downloads against a real server on loopback that misbehaves as release servers do."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

from quiver.devcluster.catalog import Binary, BinaryError, Release, Upstream
from quiver.devcluster.releases import ReleaseError, Releases, published_checksum
from quiver.devcluster.retries import Retries

_PROGRAM = bytes(range(256)) * 10_000
_SHA256 = hashlib.sha256(_PROGRAM).hexdigest()


class _Server:
    """Serves `files`; the first answers can be replaced, path by path, by `faults`."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Callable[[BaseHTTPRequestHandler], None]]] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.resumes = True
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, self.headers.get("Range")))
                if faults := server.faults.get(self.path):
                    faults.pop(0)(self)
                elif self.path in server.files:
                    server.serve(self)
                else:
                    self.send_error(404)

            def log_message(self, *_: object) -> None: ...

        return Handler

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = self.files[handler.path]
        asked = handler.headers.get("Range") if self.resumes else None
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if start >= len(body):
            handler.send_error(416)
            return
        handler.send_response(206 if asked else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        handler.wfile.write(body[start:])


def _busy(status: int, retry_after: str | None = None) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        if retry_after:
            handler.send_header("Retry-After", retry_after)
        handler.end_headers()

    return answer


def _cut_off_after(count: int) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(_PROGRAM)))
        handler.end_headers()
        handler.wfile.write(_PROGRAM[:count])

    return answer


def _hello(name: str = "hello", **release: str) -> Binary:
    urls = {"url": "https://dl/{arch}/{name}", "checksums": "https://dl/{arch}/{name}.sha256"}
    upstream = Upstream(
        folder="hello", version="1.0.0", usually="", release=Release(**(urls | release))
    )
    return Binary(name=name, file=name, package=f"example.com/{name}", upstream=upstream)


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        server.files = {"/amd64/hello": _PROGRAM, "/amd64/hello.sha256": _SHA256.encode()}
        yield server


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def releases(server: _Server, waits: list[float], tmp_path: Path) -> Releases:
    retries = Retries(sleep=waits.append, jitter=lambda: 0.5)
    return Releases(tmp_path / "downloads", arch="amd64", base=server.url, retries=retries)


def _fetched(releases: Releases, into: Path, *binaries: Binary) -> dict[str, bytes]:
    files: dict[str, Path] = {}
    for url, group in releases.by_url(binaries or [_hello()]).items():
        files |= releases.fetch(url, group, into, lambda _: None)
    return {name: file.read_bytes() for name, file in files.items()}


def _parts(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "downloads").glob("*"))


def test_a_published_file_is_fetched(releases: Releases, tmp_path: Path) -> None:
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}
    assert _parts(tmp_path) == []


def test_two_programs_of_one_archive_are_downloaded_once(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    archive = _tar({"./bin/one": b"1", "./bin/two": b"2", "./bin/three": b"3"})
    sums = f"{'0' * 64}  other\n{hashlib.sha256(archive).hexdigest()} *all_1.0.0.tgz\n"
    server.files = {"/all_1.0.0.tgz": archive, "/sums": sums.encode()}
    release = {
        "url": "https://dl/all_{version}.tgz",
        "checksums": "https://dl/sums",
        "member": "bin/{name}",
    }
    fetched = _fetched(releases, tmp_path, _hello("one", **release), _hello("two", **release))
    assert fetched == {"one": b"1", "two": b"2"}
    assert [path for path, _ in server.asked] == ["/sums", "/all_1.0.0.tgz"]


def test_an_archive_without_the_program_is_no_release(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    archive = _tar({"readme": b"hello"})
    server.files = {
        "/amd64/hello": archive,
        "/amd64/hello.sha256": hashlib.sha256(archive).hexdigest().encode(),
    }
    with pytest.raises(ReleaseError, match="has no bin/hello in it"):
        _fetched(releases, tmp_path, _hello(member="bin/{name}"))


def test_a_busy_server_is_asked_again_after_the_time_it_named(
    server: _Server, releases: Releases, waits: list[float], tmp_path: Path
) -> None:
    server.faults = {"/amd64/hello": [_busy(429, "17"), _busy(503)]}
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}
    assert waits == [17.0, 4.0]


def test_a_server_that_stays_busy_is_given_up(
    server: _Server, releases: Releases, waits: list[float], tmp_path: Path
) -> None:
    server.faults = {"/amd64/hello": [_busy(503)] * 6}
    with pytest.raises(ReleaseError, match=r"answered 503, 6 times"):
        _fetched(releases, tmp_path)
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0]


@pytest.mark.parametrize("status", [403, 404])
def test_a_file_that_is_not_there_is_asked_for_once(
    status: int, server: _Server, releases: Releases, waits: list[float], tmp_path: Path
) -> None:
    server.faults = {"/amd64/hello": [_busy(status)]}
    with pytest.raises(ReleaseError, match=f"answered {status}"):
        _fetched(releases, tmp_path)
    assert waits == []


def test_a_wrong_checksum_is_refused_and_leaves_nothing_behind(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    server.files["/amd64/hello.sha256"] = b"0" * 64
    with pytest.raises(ReleaseError, match="does not have the checksum that its project published"):
        _fetched(releases, tmp_path)
    assert _parts(tmp_path) == []


def test_a_missing_checksum_is_refused_before_the_download(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    server.files["/amd64/hello.sha256"] = b"<html>Not here</html>"
    with pytest.raises(ReleaseError, match="has no checksum"):
        _fetched(releases, tmp_path)
    assert "/amd64/hello" not in [path for path, _ in server.asked]


def test_a_download_that_broke_off_goes_on_where_it_was(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    server.faults = {"/amd64/hello": [_cut_off_after(1_000_000)]}
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}
    assert server.asked[1:] == [("/amd64/hello", None), ("/amd64/hello", "bytes=1000000-")]


def test_a_server_that_cannot_resume_sends_everything_again(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    server.resumes = False
    server.faults = {"/amd64/hello": [_cut_off_after(1_000_000)]}
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * len(_PROGRAM), b"x" * 9_999_999])
def test_a_part_that_was_damaged_is_downloaded_afresh(
    left: bytes, releases: Releases, tmp_path: Path
) -> None:
    part = tmp_path / "downloads" / f"{_SHA256[:16]}-hello.part"
    part.parent.mkdir()
    part.write_bytes(left)
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}


def test_a_part_that_was_complete_is_not_downloaded_again(
    server: _Server, releases: Releases, tmp_path: Path
) -> None:
    part = tmp_path / "downloads" / f"{_SHA256[:16]}-hello.part"
    part.parent.mkdir()
    part.write_bytes(_PROGRAM)
    assert _fetched(releases, tmp_path) == {"hello": _PROGRAM}
    assert server.asked == [("/amd64/hello.sha256", None)]


def test_a_host_that_does_not_answer_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried: list[object] = []

    def refuse(address: object, timeout: float) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuse)
    monkeypatch.setattr("urllib.request.getproxies", dict)
    releases = Releases(tmp_path, arch="amd64")
    hosts = [releases.unreachable_host(_hello().upstream) for _ in range(3)]
    assert hosts == ["dl", "dl", "dl"]
    assert tried == [("dl", 443)]


def test_behind_a_proxy_it_is_the_proxy_that_must_answer(
    monkeypatch: pytest.MonkeyPatch, server: _Server, tmp_path: Path
) -> None:
    monkeypatch.setattr("urllib.request.getproxies", lambda: {"https": server.url})
    releases = Releases(tmp_path, arch="amd64")
    assert releases.unreachable_host(_hello().upstream) is None


def test_a_host_that_answers_is_reachable(releases: Releases) -> None:
    assert releases.unreachable_host(_hello().upstream) is None


def test_downloads_can_be_turned_off(tmp_path: Path) -> None:
    assert not Releases(tmp_path, arch="amd64", base="off").may_have(_hello().upstream)


def test_a_mirror_that_is_no_address_is_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(BinaryError, match="QUIVER_RELEASES is 'file:///tmp'"):
        Releases(tmp_path, arch="amd64", base="file:///tmp")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{_SHA256}\n", True),
        (f"{_SHA256}  hello.tgz\n", True),
        (f"{_SHA256} *release/hello.tgz\n", True),
        (f"{'0' * 64}  other\n{_SHA256.upper()}  hello.tgz\n", True),
        (f"{_SHA256}  nothello.tgz\n", False),
        (f"{_SHA256}\n{'0' * 64}\n", False),
        ("<html>not found</html>", False),
        ("", False),
    ],
)
def test_a_checksum_is_only_taken_for_the_file_it_names(text: str, found: bool) -> None:
    assert published_checksum(text, "hello.tgz") == (_SHA256 if found else None)


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
