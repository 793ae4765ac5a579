"""From a dev cluster's kubeconfig to what aiohttp wants. The standard library and PyYAML only."""

import base64
import ssl
import tempfile
from pathlib import Path
from typing import Any

import yaml


def access(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    """The server's address, and the proof of who is calling."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    tls = ssl.create_default_context(cadata=_text(cluster, "certificate-authority-data"))
    # Python's ssl module takes a key only from a file.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
        pem.write(_text(user, "client-certificate-data") + _text(user, "client-key-data"))
        pem.flush()
        tls.load_cert_chain(pem.name)
    return str(cluster["server"]), tls


def _text(entry: dict[str, Any], key: str) -> str:
    return base64.b64decode(entry[key]).decode()
