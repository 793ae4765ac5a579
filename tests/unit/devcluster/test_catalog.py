"""The catalog and the pinned Go modules say the same."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from quiver.devcluster.catalog import BINARIES, KUBERNETES, Binary
from quiver.devcluster.paths import upstream_dir

_CONTAINERD = "github.com/containerd/containerd/releases/download/v2.3.7"
_NAMED = pytest.mark.parametrize("binary", BINARIES.values(), ids=list(BINARIES))


def _go_mod(binary: Binary) -> str:
    return (upstream_dir() / binary.upstream.folder / "go.mod").read_text()


def _required(go_mod: str) -> dict[str, str]:
    return dict(re.findall(r"^(?:require)?\s*([\w./-]+\.[\w./-]+) v(\S+)", go_mod, re.MULTILINE))


def _module_of(package: str, modules: dict[str, str]) -> str:
    return max((module for module in modules if f"{package}/".startswith(f"{module}/")), key=len)


@_NAMED
def test_a_version_is_the_one_that_the_go_module_requires(binary: Binary) -> None:
    required = _required(_go_mod(binary))
    assert required[_module_of(binary.package, required)] == binary.version


@_NAMED
def test_a_package_is_a_tool_of_its_go_module(binary: Binary) -> None:
    assert re.search(rf"^(tool)?\s+{re.escape(binary.package)}$", _go_mod(binary), re.MULTILINE)


@_NAMED
def test_the_modules_have_checksums(binary: Binary) -> None:
    module = upstream_dir() / binary.upstream.folder
    assert f" v{binary.version} h1:" in (module / "go.sum").read_text()


def test_every_pinned_module_has_a_program_in_the_catalog() -> None:
    folders = {path.parent.name for path in upstream_dir().glob("*/go.mod")}
    assert folders == {binary.upstream.folder for binary in BINARIES.values()}


def test_a_program_that_is_had_in_several_versions_carries_one_file_name() -> None:
    several = [binary for name, binary in BINARIES.items() if name.startswith("weaviate-")]
    assert len(several) == 4
    assert {binary.file for binary in several} == {"weaviate"}


@pytest.mark.parametrize(
    ("name", "url", "checksums", "member"),
    [
        (
            "kubelet",
            "dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubelet",
            "dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubelet.sha256",
            None,
        ),
        (
            "etcd",
            "github.com/etcd-io/etcd/releases/download/v3.6.16/etcd-v3.6.16-linux-arm64.tar.gz",
            "github.com/etcd-io/etcd/releases/download/v3.6.16/SHA256SUMS",
            "etcd-v3.6.16-linux-arm64/etcd",
        ),
        (
            "ctr",
            f"{_CONTAINERD}/containerd-static-2.3.7-linux-arm64.tar.gz",
            f"{_CONTAINERD}/containerd-static-2.3.7-linux-arm64.tar.gz.sha256sum",
            "bin/ctr",
        ),
        (
            "runc",
            "github.com/opencontainers/runc/releases/download/v1.4.3/runc.arm64",
            "github.com/opencontainers/runc/releases/download/v1.4.3/runc.sha256sum",
            None,
        ),
    ],
)
def test_a_release_has_the_address_that_its_project_publishes(
    name: str, url: str, checksums: str, member: str | None
) -> None:
    binary = BINARIES[name]
    release = binary.upstream.release
    assert release
    templates = [release.url, release.checksums, release.member]
    filled = [
        template and template.format(version=binary.version, arch="arm64", name=name)
        for template in templates
    ]
    assert filled == [f"https://{url}", f"https://{checksums}", member]


def test_every_release_address_is_https_and_names_its_version_once_filled() -> None:
    for binary in BINARIES.values():
        if release := binary.upstream.release:
            url = release.url.format(version=binary.version, arch="amd64", name=binary.name)
            assert urlsplit(url).scheme == "https"
            assert f"/v{binary.version}/" in url


def test_kubernetes_knows_its_own_version() -> None:
    values = BINARIES["kube-apiserver"].upstream.linker_values
    assert values["k8s.io/component-base/version.gitVersion"] == f"v{KUBERNETES}"
    assert values["k8s.io/client-go/pkg/version.gitMinor"] == KUBERNETES.split(".")[1]


def test_the_pinned_modules_are_found_in_a_checkout() -> None:
    assert upstream_dir() == Path(__file__).parents[3] / "upstream"
