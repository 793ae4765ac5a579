"""The programs the dev cluster is made of: versions, where they come from, how they are built.

A version here equals the one required in `upstream/<folder>/go.mod`; a test holds them together.
"""

import msgspec

from quiver.devcluster.errors import DevClusterError

KUBERNETES = "1.36.3"
ETCD = "3.6.16"
CONTAINERD = "2.3.7"
CNI_PLUGINS = "1.9.1"
COREDNS = "1.14.7"
DISTRIBUTION = "3.1.2"
KWOK = "0.8.0"
METRICS_SERVER = "0.9.0"
TRAEFIK = "3.6.12"
VERSITYGW = "1.8.0"
RUNC = "1.4.3"
WEAVIATE = ("1.27.0", "1.35.15", "1.36.12", "1.37.9")


class BinaryError(DevClusterError):
    """A program cannot be had."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Published files, as templates of `{version}`, `{arch}` and `{name}`."""

    url: str
    checksums: str
    member: str | None = None
    """The path inside the archive; None when the file is the program itself."""


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """One project, pinned by the Go module in its folder."""

    folder: str
    version: str
    usually: str
    """How long building all of it takes on two cores."""
    disk_gb: int = 3
    linker_values: dict[str, str] = {}
    cgo: bool = False
    release: Release | None = None


class Binary(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    file: str
    package: str
    upstream: Upstream
    prefer_system: bool = False
    """Take the one on the PATH, whatever its version."""

    @property
    def version(self) -> str:
        return self.upstream.version

    def __str__(self) -> str:
        return self.name if self.name.endswith(self.version) else f"{self.name} {self.version}"


def _kubernetes_values(version: str) -> dict[str, str]:
    major, minor, _ = version.split(".")
    values = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return {f"{package}.{key}": value for package in packages for key, value in values.items()}


def _github(repository: str, asset: str, checksums: str, *, member: str | None = None) -> Release:
    base = f"https://github.com/{repository}/releases/download/v{{version}}"
    return Release(url=f"{base}/{asset}", checksums=f"{base}/{checksums}", member=member)


_KUBERNETES = Upstream(
    folder="kubernetes",
    version=KUBERNETES,
    usually="about 9 min",
    disk_gb=5,
    linker_values=_kubernetes_values(KUBERNETES),
    release=Release(
        url="https://dl.k8s.io/release/v{version}/bin/linux/{arch}/{name}",
        checksums="https://dl.k8s.io/release/v{version}/bin/linux/{arch}/{name}.sha256",
    ),
)
_ETCD = Upstream(
    folder="etcd",
    version=ETCD,
    usually="about 30 s",
    release=_github(
        "etcd-io/etcd",
        "etcd-v{version}-linux-{arch}.tar.gz",
        "SHA256SUMS",
        member="etcd-v{version}-linux-{arch}/etcd",
    ),
)
_CONTAINERD = Upstream(
    folder="containerd",
    version=CONTAINERD,
    usually="about 2 min",
    linker_values={"github.com/containerd/containerd/v2/version.Version": f"v{CONTAINERD}"},
    release=_github(
        "containerd/containerd",
        "containerd-static-{version}-linux-{arch}.tar.gz",
        "containerd-static-{version}-linux-{arch}.tar.gz.sha256sum",
        member="bin/{name}",
    ),
)
_CNI_PLUGINS = Upstream(
    folder="cni-plugins",
    version=CNI_PLUGINS,
    usually="about 20 s",
    linker_values={
        "github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion": (
            f"v{CNI_PLUGINS}"
        )
    },
    release=_github(
        "containernetworking/plugins",
        "cni-plugins-linux-{arch}-v{version}.tgz",
        "cni-plugins-linux-{arch}-v{version}.tgz.sha256",
        member="{name}",
    ),
)
_COREDNS = Upstream(
    folder="coredns",
    version=COREDNS,
    usually="about 2 min",
    release=_github(
        "coredns/coredns",
        "coredns_{version}_linux_{arch}.tgz",
        "coredns_{version}_linux_{arch}.tgz.sha256",
        member="coredns",
    ),
)
_DISTRIBUTION = Upstream(
    folder="distribution",
    version=DISTRIBUTION,
    usually="about 90 s",
    linker_values={
        "github.com/distribution/distribution/v3/version.version": f"v{DISTRIBUTION}",
    },
    release=_github(
        "distribution/distribution",
        "registry_{version}_linux_{arch}.tar.gz",
        "registry_{version}_linux_{arch}.tar.gz.sha256",
        member="registry",
    ),
)
_TRAEFIK = Upstream(
    folder="traefik",
    version=TRAEFIK,
    usually="about 4 min",
    linker_values={"github.com/traefik/traefik/v3/pkg/version.Version": TRAEFIK},
    release=_github(
        "traefik/traefik",
        "traefik_v{version}_linux_{arch}.tar.gz",
        "traefik_v{version}_checksums.txt",
        member="traefik",
    ),
)
_RUNC = Upstream(
    folder="runc",
    version=RUNC,
    usually="about 30 s",
    cgo=True,
    release=_github("opencontainers/runc", "runc.{arch}", "runc.sha256sum"),
)
_KWOK = Upstream(folder="kwok", version=KWOK, usually="about 2 min")
_METRICS_SERVER = Upstream(
    folder="metrics-server",
    version=METRICS_SERVER,
    usually="about 2 min",
    linker_values={"k8s.io/client-go/pkg/version.gitVersion": f"v{METRICS_SERVER}"},
)
_VERSITYGW = Upstream(
    folder="versitygw",
    version=VERSITYGW,
    usually="about 2 min",
    linker_values={"main.Version": f"v{VERSITYGW}"},
)


def _binaries(upstream: Upstream, packages: dict[str, str]) -> list[Binary]:
    return [
        Binary(name=name, file=name, package=package, upstream=upstream)
        for name, package in packages.items()
    ]


def _weaviate(version: str) -> Binary:
    name = f"weaviate-{version}"
    return Binary(
        name=name,
        file="weaviate",
        package="github.com/weaviate/weaviate/cmd/weaviate-server",
        upstream=Upstream(folder=name, version=version, usually="about 4 min"),
    )


_KUBERNETES_NAMES = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)
_CONTAINERD_NAMES = ("containerd", "containerd-shim-runc-v2", "ctr")
_CNI_PATHS = {
    "bridge": "main/bridge",
    "loopback": "main/loopback",
    "host-local": "ipam/host-local",
    "portmap": "meta/portmap",
}

_ALL = [
    *_binaries(_KUBERNETES, {name: f"k8s.io/kubernetes/cmd/{name}" for name in _KUBERNETES_NAMES}),
    *_binaries(_ETCD, {"etcd": "go.etcd.io/etcd/server/v3"}),
    *_binaries(
        _CONTAINERD,
        {name: f"github.com/containerd/containerd/v2/cmd/{name}" for name in _CONTAINERD_NAMES},
    ),
    *_binaries(
        _CNI_PLUGINS,
        {
            name: f"github.com/containernetworking/plugins/plugins/{path}"
            for name, path in _CNI_PATHS.items()
        },
    ),
    *_binaries(_COREDNS, {"coredns": "github.com/coredns/coredns"}),
    *_binaries(_DISTRIBUTION, {"registry": "github.com/distribution/distribution/v3/cmd/registry"}),
    *_binaries(_KWOK, {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    *_binaries(
        _METRICS_SERVER, {"metrics-server": "sigs.k8s.io/metrics-server/cmd/metrics-server"}
    ),
    *_binaries(_TRAEFIK, {"traefik": "github.com/traefik/traefik/v3/cmd/traefik"}),
    *_binaries(_VERSITYGW, {"versitygw": "github.com/versity/versitygw/cmd/versitygw"}),
    *[_weaviate(version) for version in WEAVIATE],
    Binary(
        name="runc",
        file="runc",
        package="github.com/opencontainers/runc",
        upstream=_RUNC,
        prefer_system=True,
    ),
]

BINARIES: dict[str, Binary] = {binary.name: binary for binary in _ALL}
