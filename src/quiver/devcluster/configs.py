"""The configuration files of the programs, as pure functions from addresses to text."""

import base64
import json
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import yaml

from quiver.devcluster.home import Home
from quiver.devcluster.network import Network

# Names in manifests that the local registry stands in for. Others are added when an image is
# loaded under them; the runtime reads the folder at each pull.
MIRRORED = (
    "cr.weaviate.io",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "nvcr.io",
    "public.ecr.aws",
    "quay.io",
    "registry.k8s.io",
)
REGISTRY_PORT = 5000
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"


def kubeconfig(contexts: dict[str, str], pki: dict[str, Path], user: str) -> str:
    """One context per API server; `contexts` maps its name to its URL, `pki` to its folder."""
    return _yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": next(iter(contexts)),
            "clusters": [
                {
                    "name": name,
                    "cluster": {
                        "server": url,
                        "certificate-authority-data": _data(pki[name] / "ca.crt"),
                    },
                }
                for name, url in contexts.items()
            ],
            "users": [
                {
                    "name": f"{name}-{user}",
                    "user": {
                        "client-certificate-data": _data(pki[name] / f"{user}.crt"),
                        "client-key-data": _data(pki[name] / f"{user}.key"),
                    },
                }
                for name in contexts
            ],
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": f"{name}-{user}"}}
                for name in contexts
            ],
        }
    )


def containerd(home: Home, cni_binaries: Path) -> str:
    root, state = home.data / "containerd", home.path / "run-containerd"
    return f"""version = 3
root = "{root}"
state = "{state}"

[grpc]
  address = "{home.containerd_socket}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{PAUSE_IMAGE}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "{home.config / "registries"}"

[plugins."io.containerd.cri.v1.runtime"]
  # A sandboxed root may lack CAP_SYS_RESOURCE, and runc cannot lower a score without it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{cni_binaries}"]
    conf_dir = "{home.config / "cni"}"
"""


def registry_hosts(registry: str, network: Network, *, prefix: str = "") -> str:
    """Where the runtime looks for images of one public registry: here first, then there."""
    mirror = f"http://{network.node_ip}:{REGISTRY_PORT}/v2/{prefix or registry}"
    upstream = "registry-1.docker.io" if registry == "docker.io" else registry
    return (
        f'server = "https://{upstream}"\n\n'
        f'[host."{mirror}"]\n'
        '  capabilities = ["pull", "resolve"]\n'
        "  override_path = true\n"
    )


def registry(storage: Path) -> str:
    return _yaml(
        {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {
                "filesystem": {"rootdirectory": str(storage)},
                "delete": {"enabled": True},
            },
            "http": {"addr": f":{REGISTRY_PORT}"},
        }
    )


def cni(network: Network) -> str:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "ipMasq": True,
        "ipMasqBackend": "nftables",
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": network.pod_cidr}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "/run/quiver-cni",
        },
    }
    plugins = [bridge]
    return json.dumps({"cniVersion": "1.0.0", "name": "quiver", "plugins": plugins}, indent=2)


def kubelet(home: Home, network: Network, *, cgroup_root: str) -> str:
    pki = home.pki()
    return _yaml(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": network.node_ip,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(pki / "ca.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(pki / "kubelet.crt"),
            "tlsPrivateKeyFile": str(pki / "kubelet.key"),
            "containerRuntimeEndpoint": f"unix://{home.containerd_socket}",
            "clusterDomain": "cluster.local",
            "clusterDNS": [network.dns_ip],
            "resolvConf": str(home.config / "resolv.conf"),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": cgroup_root,
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": ["pods"],
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "maxPods": 250,
            "serializeImagePulls": False,
            "shutdownGracePeriod": "0s",
            "syncFrequency": "10s",
            "volumePluginDir": str(home.data / "volume-plugins"),
            "volumeStatsAggPeriod": "10s",
        }
    )


def stages(kubernetes: str) -> str:
    """How simulated nodes behave, in KWOK's words."""
    text = resources.files(__package__).joinpath("stages.yaml").read_text()
    return Template(text).substitute(kubernetes=kubernetes)


def resolv_conf(host_resolv_conf: str, fallback: str) -> str:
    """The host's name servers that can be reached from another network namespace."""
    lines = [line.split() for line in host_resolv_conf.splitlines()]
    servers = [words[1] for words in lines if len(words) == 2 and words[0] == "nameserver"]
    reachable = [server for server in servers if not server.startswith(("127.", "::1"))]
    return "".join(f"nameserver {server}\n" for server in reachable or [fallback])


def _yaml(document: dict[str, Any]) -> str:
    return yaml.safe_dump(document, sort_keys=False)


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
