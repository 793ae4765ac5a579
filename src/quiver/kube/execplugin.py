"""Credential plugins: `client.authentication.k8s.io`, v1 and v1beta1.

What a plugin prints is a secret and appears in no error; of what it complains about, the last line
does, because only that tells a person what to do.
"""

import asyncio
import base64
import os
import signal
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from quiver.kube.config import ExecPlugin, KubeConfig
from quiver.kube.errors import CredentialError
from quiver.kube.secretive import Secretive

DEADLINE = 60.0


class Printed(Secretive, frozen=True, kw_only=True):
    hidden: ClassVar[frozenset[str]] = frozenset({"token", "certificate", "key"})

    token: str | None = None
    certificate: str | None = None
    key: str | None = None
    expires: float | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    status: _Status


async def run_plugin(
    plugin: ExecPlugin, config: KubeConfig, *, deadline: float = DEADLINE
) -> Printed:
    environment = os.environ | dict(plugin.env) | {"KUBERNETES_EXEC_INFO": _info(plugin, config)}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise _failure(plugin, f"could not be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(deadline):
            out, complaints = await process.communicate()
    except TimeoutError as error:
        raise _failure(plugin, f"was not done within {deadline:.0f} s") from error
    finally:
        await _end(process)
    if process.returncode != 0:
        said = _last_line(complaints)
        raise _failure(plugin, f"ended with code {process.returncode}{said}")
    return _understood(plugin, out)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _info(plugin: ExecPlugin, config: KubeConfig) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.cluster_info:
        spec["cluster"] = _cluster(plugin, config)
    document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(document).decode()


def _cluster(plugin: ExecPlugin, config: KubeConfig) -> dict[str, Any]:
    ca = base64.b64encode(config.ca.encode()).decode() if config.ca else None
    told = {
        "server": config.server,
        "tls-server-name": config.tls_server_name,
        "insecure-skip-tls-verify": config.insecure_skip_tls_verify or None,
        "certificate-authority-data": ca,
        "proxy-url": config.proxy_url,
        "config": plugin.cluster_config,
    }
    return {name: value for name, value in told.items() if value is not None}


def _understood(plugin: ExecPlugin, out: bytes) -> Printed:
    try:
        answer = msgspec.json.decode(out, type=_ExecCredential)
    except msgspec.DecodeError:
        # The decoder's own words may quote what was printed.
        raise _failure(plugin, "printed no ExecCredential with a status") from None
    if answer.api_version != plugin.api_version:
        raise _failure(plugin, f"answered in {answer.api_version}, not {plugin.api_version}")
    status = answer.status
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise _failure(plugin, "printed a certificate without its key, or a key alone")
    if not status.token and not status.client_certificate_data:
        raise _failure(plugin, "printed neither a token nor a certificate")
    expires = status.expiration_timestamp
    return Printed(
        token=status.token,
        certificate=status.client_certificate_data,
        key=status.client_key_data,
        expires=expires.timestamp() if expires else None,
    )


def _failure(plugin: ExecPlugin, what: str) -> CredentialError:
    hint = f" ({plugin.install_hint})" if plugin.install_hint else ""
    return CredentialError(f"the credential plugin {plugin.command} {what}{hint}")


def _last_line(complaints: bytes) -> str:
    written = complaints.decode(errors="replace").strip().splitlines()
    return f": {written[-1][:200]}" if written else ""
