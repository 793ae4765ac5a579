"""Where an API server is and how to prove who we are, read from a kubeconfig file."""

import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import yaml


class ConfigError(Exception):
    """The kubeconfig cannot be used; the message says which file and what is missing."""


class KubeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One context of a kubeconfig, with its files read."""

    server: str
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    token: str | None = None
    namespace: str = "default"

    @classmethod
    def load(cls, path: Path, context: str | None = None) -> "KubeConfig":
        try:
            document = yaml.safe_load(path.read_text())
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(f"cannot read kubeconfig {path}: {error}") from error
        name = context or document.get("current-context")
        chosen = _named(document, "contexts", name, path)["context"]
        cluster = _named(document, "clusters", chosen["cluster"], path)["cluster"]
        user = _named(document, "users", chosen["user"], path)["user"]
        return cls(
            server=cluster["server"].rstrip("/"),
            ca=_text(cluster, "certificate-authority", path.parent),
            certificate=_text(user, "client-certificate", path.parent),
            key=_text(user, "client-key", path.parent),
            token=user.get("token"),
            namespace=chosen.get("namespace", "default"),
        )

    def tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca)
        if self.certificate and self.key:
            # OpenSSL loads a client certificate from a file only.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
                pair.write(self.certificate + "\n" + self.key)
                pair.flush()
                context.load_cert_chain(pair.name)
        return context


def _named(document: dict[str, Any], section: str, name: str | None, path: Path) -> dict[str, Any]:
    for entry in document.get(section) or []:
        if entry["name"] == name:
            return dict(entry)
    raise ConfigError(f"kubeconfig {path} has no entry {name!r} under {section}")


def _text(section: dict[str, Any], key: str, base: Path) -> str | None:
    if data := section.get(f"{key}-data"):
        return base64.b64decode(data).decode()
    return (base / section[key]).read_text() if key in section else None
