"""Where an API server is and how to prove who we are: from kubeconfig files, or inside a pod."""

import os
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from quiver.kube import kubeconfig, tls
from quiver.kube.errors import ConfigError
from quiver.kube.secretive import Secretive

__all__ = ["ConfigError", "CredentialFiles", "ExecPlugin", "Impersonation", "KubeConfig"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class CredentialFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files from which a credential was read, and is read again when they change."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    token: Path | None = None

    @property
    def any_named(self) -> bool:
        return any((self.ca, self.certificate, self.key, self.token))


class ExecPlugin(Secretive, frozen=True, kw_only=True):
    """A program that prints a credential. Its environment may hold secrets."""

    hidden: ClassVar[frozenset[str]] = frozenset({"env"})

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    cluster_info: bool = False
    cluster_config: Any = None


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """Act as somebody else; the server checks that we may."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        groups = (("Impersonate-Group", group) for group in self.groups)
        uid = (("Impersonate-Uid", self.uid),) if self.uid else ()
        return (("Impersonate-User", self.user), *groups, *uid)


class KubeConfig(Secretive, frozen=True, kw_only=True):
    """One context of a kubeconfig, with its files read."""

    hidden: ClassVar[frozenset[str]] = frozenset({"ca", "certificate", "key", "token", "proxy_url"})

    server: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    token: str | None = None
    namespace: str = "default"
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool = False
    proxy_url: str | None = None
    impersonation: Impersonation | None = None
    plugin: ExecPlugin | None = None
    files: CredentialFiles = CredentialFiles()

    @classmethod
    def load(cls, path: Path, context: str | None = None) -> "KubeConfig":
        return cls.load_merged([path], context)

    @classmethod
    def load_merged(cls, paths: Sequence[Path], context: str | None = None) -> "KubeConfig":
        """Of several files the earlier one counts more, as with KUBECONFIG=a:b."""
        chosen = kubeconfig.read_files(paths).choose(context)
        return _from_entries(chosen)

    @classmethod
    def default(
        cls,
        context: str | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> "KubeConfig":
        """What kubectl would use: $KUBECONFIG, ~/.kube/config, or the pod's service account."""
        environment = os.environ if environment is None else environment
        paths = kubeconfig.default_paths(environment, home or Path.home())
        if paths:
            return cls.load_merged(paths, context)
        if "KUBERNETES_SERVICE_HOST" in environment and context is None:
            return cls.in_cluster(environment=environment)
        raise ConfigError(
            "there is no kubeconfig: set KUBECONFIG, write ~/.kube/config, or run inside a pod"
        )

    @classmethod
    def in_cluster(
        cls, *, folder: Path = SERVICE_ACCOUNT, environment: Mapping[str, str] | None = None
    ) -> "KubeConfig":
        """The service account of the pod we run in; its token is rotated under us."""
        environment = os.environ if environment is None else environment
        host = environment.get("KUBERNETES_SERVICE_HOST")
        if not host:
            raise ConfigError("this is no pod: KUBERNETES_SERVICE_HOST is not set")
        port = environment.get("KUBERNETES_SERVICE_PORT", "443")
        namespace = folder / "namespace"
        return cls(
            server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            ca=kubeconfig.read(folder / "ca.crt"),
            token=kubeconfig.read(folder / "token").strip(),
            namespace=kubeconfig.read(namespace).strip() if namespace.exists() else "default",
            files=CredentialFiles(ca=folder / "ca.crt", token=folder / "token"),
        )

    def tls(self) -> ssl.SSLContext:
        return tls.context_for(
            ca=self.ca,
            certificate=self.certificate,
            key=self.key,
            verify=not self.insecure_skip_tls_verify,
        )


def _from_entries(chosen: kubeconfig.Chosen) -> KubeConfig:
    cluster, user, namespace = chosen
    server = cluster.value.get("server")
    if not server:
        raise ConfigError(f"a cluster in {cluster.base} has no server")
    token_file = user.base / user.value["tokenFile"] if user.value.get("tokenFile") else None
    return KubeConfig(
        server=str(server).rstrip("/"),
        ca=cluster.text("certificate-authority"),
        certificate=user.text("client-certificate"),
        key=user.text("client-key"),
        token=kubeconfig.read(token_file).strip() if token_file else user.value.get("token"),
        namespace=namespace,
        tls_server_name=cluster.value.get("tls-server-name"),
        insecure_skip_tls_verify=bool(cluster.value.get("insecure-skip-tls-verify")),
        proxy_url=_proxy(cluster),
        impersonation=_impersonation(user),
        plugin=_plugin(cluster, user),
        files=CredentialFiles(
            ca=cluster.file("certificate-authority"),
            certificate=user.file("client-certificate"),
            key=user.file("client-key"),
            token=token_file,
        ),
    )


def _proxy(cluster: kubeconfig.Entry) -> str | None:
    url = cluster.value.get("proxy-url")
    if url and not str(url).startswith(("http://", "https://")):
        scheme = str(url).partition(":")[0]
        raise ConfigError(f"proxy-url in {cluster.base}: only http proxies work, not {scheme}")
    return str(url) if url else None


def _impersonation(user: kubeconfig.Entry) -> Impersonation | None:
    if not user.value.get("as"):
        return None
    return Impersonation(
        user=user.value["as"],
        groups=tuple(user.value.get("as-groups") or ()),
        uid=user.value.get("as-uid") or "",
    )


def _plugin(cluster: kubeconfig.Entry, user: kubeconfig.Entry) -> ExecPlugin | None:
    given = user.value.get("exec")
    if not given:
        return None
    api_version = given.get("apiVersion")
    if api_version not in _EXEC_VERSIONS:
        raise ConfigError(
            f"the credential plugin in {user.base} has apiVersion {api_version!r}, "
            f"not {' or '.join(_EXEC_VERSIONS)}"
        )
    if given.get("interactiveMode") == "Always":
        raise ConfigError(f"the credential plugin in {user.base} asks for a terminal")
    command = str(given.get("command") or "")
    if not command:
        raise ConfigError(f"the credential plugin in {user.base} has no command")
    return ExecPlugin(
        api_version=api_version,
        # As with kubectl: a command with a slash is a path beside the kubeconfig.
        command=str(user.base / command) if "/" in command else command,
        args=tuple(str(argument) for argument in given.get("args") or ()),
        env=tuple((str(pair["name"]), str(pair["value"])) for pair in given.get("env") or ()),
        install_hint=str(given.get("installHint") or "").strip(),
        cluster_info=bool(given.get("provideClusterInfo")),
        cluster_config=_extension(cluster),
    )


def _extension(cluster: kubeconfig.Entry) -> Any:
    for extension in cluster.value.get("extensions") or ():
        if extension.get("name") == _EXEC_EXTENSION:
            return extension.get("extension")
    return None
