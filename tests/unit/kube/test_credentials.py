"""Credentials that change under us: rotated files, expiring plugins, a server that says 401."""

# Small local files, written by the test itself:
# ruff: noqa: ASYNC240

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from quiver.kube import Client, CredentialError, KubeConfig, Unauthorized
from quiver.kube.config import CredentialFiles, ExecPlugin
from quiver.kube.credentials import FileCredentials, FixedCredentials, PluginCredentials
from quiver.kube.execplugin import run_plugin
from unit.kube.fake_api import MAP, MAP_PATH, FakeApi

V1 = "client.authentication.k8s.io/v1"
Plugin = Callable[..., KubeConfig]


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


def from_file(path: Path, **options: Any) -> KubeConfig:
    files = CredentialFiles(token=path)
    return KubeConfig(server="https://x", token="first", files=files, **options)


async def test_a_token_file_that_changed_is_read_again(token_file: Path, clock: Clock) -> None:
    credentials = FileCredentials(from_file(token_file), monotonic=clock)
    assert (await credentials.current()).token == "first"
    token_file.write_text("the second\n")
    assert (await credentials.current()).token == "first"
    clock.time += 1
    assert (await credentials.current()).token == "the second"


async def test_a_token_file_that_looks_unchanged_is_read_once_a_minute(
    token_file: Path, clock: Clock
) -> None:
    credentials = FileCredentials(from_file(token_file), monotonic=clock)
    await credentials.current()
    before = token_file.stat()
    token_file.write_text("other\n")
    os.utime(token_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    clock.time += 30
    assert (await credentials.current()).token == "first"
    clock.time += 30
    assert (await credentials.current()).token == "other"


async def test_while_a_file_is_missing_or_empty_the_last_token_serves(
    token_file: Path, clock: Clock
) -> None:
    credentials = FileCredentials(from_file(token_file), monotonic=clock)
    token_file.write_text("")
    clock.time += 2
    assert (await credentials.current()).token == "first"
    token_file.unlink()
    clock.time += 2
    assert (await credentials.current()).token == "first"


async def test_an_unchanged_file_gives_the_very_same_credential(
    token_file: Path, clock: Clock
) -> None:
    credentials = FileCredentials(from_file(token_file), monotonic=clock)
    first = await credentials.current()
    clock.time += 100
    assert await credentials.current() is first
    assert not credentials.reject(first)


def test_a_fixed_credential_has_no_second_chance() -> None:
    fixed = FixedCredentials(KubeConfig(server="https://x", token="t"))
    assert not fixed.reject(asyncio.run(fixed.current()))


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """A program that counts its runs and prints `status`."""

    def make(status: object = None, *, code: str = "", **options: Any) -> KubeConfig:
        command = tmp_path / "login"
        printed = json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})
        command.write_text(
            f"#!{sys.executable}\nimport os, sys, time\n"
            f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
            f"open({str(tmp_path / 'info')!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'])\n"
            f"{code}\nprint({printed!r}.replace('ARGS', ' '.join(sys.argv[1:]))"
            ".replace('ENV', os.environ.get('WHO', '')))\n"
        )
        command.chmod(stat.S_IRWXU)
        chosen = {"api_version": V1, "command": str(command)} | options
        return KubeConfig(server="https://x", ca="a CA", plugin=ExecPlugin(**chosen))

    return make


def runs(tmp_path: Path) -> int:
    return len((tmp_path / "runs").read_text())


async def _printed(config: KubeConfig, deadline: float = 60.0) -> Any:
    assert config.plugin is not None
    return await run_plugin(config.plugin, config, deadline=deadline)


async def test_a_plugin_gets_its_arguments_and_environment(plugin: Plugin) -> None:
    config = plugin({"token": "ARGS of ENV"}, args=("a", "b"), env=(("WHO", "me"),))
    assert (await _printed(config)).token == "a b of me"


@pytest.mark.parametrize("told", [True, False])
async def test_a_plugin_is_told_about_the_cluster_only_where_it_asks(
    told: bool, plugin: Plugin, tmp_path: Path
) -> None:
    await _printed(plugin({"token": "t"}, cluster_info=told, cluster_config={"k": 1}))
    info = json.loads((tmp_path / "info").read_text())
    assert (info["apiVersion"], info["kind"]) == (V1, "ExecCredential")
    cluster = {"server": "https://x", "certificate-authority-data": "YSBDQQ==", "config": {"k": 1}}
    assert info["spec"] == {"interactive": False} | ({"cluster": cluster} if told else {})


async def test_a_plugin_may_print_a_certificate(plugin: Plugin) -> None:
    printed = await _printed(plugin({"clientCertificateData": "c", "clientKeyData": "k"}))
    assert (printed.certificate, printed.key, printed.token) == ("c", "k", None)
    assert "'k'" not in repr(printed)


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (None, "printed no ExecCredential with a status"),
        ({}, "printed neither a token nor a certificate"),
        ({"clientKeyData": "s3cret"}, "printed a certificate without its key"),
        ({"token": ["s3cret"]}, "printed no ExecCredential with a status"),
    ],
)
async def test_what_a_plugin_printed_wrongly_is_described_and_not_shown(
    status: object, complaint: str, plugin: Plugin
) -> None:
    with pytest.raises(CredentialError, match=complaint) as refusal:
        await _printed(plugin(status))
    assert "s3cret" not in str(refusal.value)


async def test_a_plugin_that_answers_in_another_version_is_refused(plugin: Plugin) -> None:
    config = plugin({"token": "t"}, api_version="client.authentication.k8s.io/v1beta1")
    with pytest.raises(CredentialError, match=r"answered in client.authentication.k8s.io/v1, not"):
        await _printed(config)


async def test_a_plugin_that_fails_is_quoted_with_its_last_line(plugin: Plugin) -> None:
    config = plugin(code="print('s3cret'); sys.exit('first run: login')")
    with pytest.raises(CredentialError, match="ended with code 1: first run: login") as refusal:
        await _printed(config)
    assert "s3cret" not in str(refusal.value)


async def test_a_plugin_that_is_not_installed_is_named_with_its_hint() -> None:
    missing = ExecPlugin(api_version=V1, command="no-such-login", install_hint="brew install it")
    with pytest.raises(
        CredentialError,
        match=r"no-such-login could not be started: No such file or directory \(brew install it\)",
    ):
        await _printed(KubeConfig(server="https://x", plugin=missing))


async def test_a_plugin_that_hangs_is_ended_with_its_children_at_its_deadline(
    tmp_path: Path,
) -> None:
    script = f"echo $$ > {tmp_path}/pids; sleep 600 & echo $! >> {tmp_path}/pids; wait"
    hanging = ExecPlugin(api_version=V1, command="sh", args=("-c", script))
    with pytest.raises(CredentialError, match="was not done within 2 s"):
        await _printed(KubeConfig(server="https://x", plugin=hanging), deadline=2.0)
    pids = (tmp_path / "pids").read_text().split()
    await asyncio.sleep(0.1)
    assert len(pids) == 2
    assert not any(_is_alive(pid) for pid in pids)


def _is_alive(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _expiring(clock: Clock, seconds: float) -> dict[str, str]:
    end = datetime.fromtimestamp(clock.time + seconds, UTC)
    return {"token": "t", "expirationTimestamp": end.isoformat()}


async def test_a_plugin_runs_once_until_shortly_before_its_credential_expires(
    plugin: Plugin, clock: Clock, tmp_path: Path
) -> None:
    credentials = PluginCredentials(plugin(_expiring(clock, 600)), now=clock)
    await asyncio.gather(*(credentials.current() for _ in range(5)))
    clock.time += 539
    await credentials.current()
    assert runs(tmp_path) == 1
    clock.time += 2
    await credentials.current()
    assert runs(tmp_path) == 2


async def test_a_credential_without_an_end_is_kept_until_it_is_refused(
    plugin: Plugin, clock: Clock, tmp_path: Path
) -> None:
    credentials = PluginCredentials(plugin({"token": "t"}), now=clock)
    first = await credentials.current()
    clock.time += 1e9
    assert await credentials.current() is first
    assert credentials.reject(first)
    second = await credentials.current()
    # Whoever is late with the same complaint does not throw the new one away.
    assert credentials.reject(first)
    assert await credentials.current() is second
    assert runs(tmp_path) == 2


def _accepts(*tokens: str) -> Any:
    async def answer(request: web.Request) -> web.StreamResponse:
        known = request.headers.get("Authorization") in {f"Bearer {token}" for token in tokens}
        refusal = {"kind": "Status", "code": 401, "reason": "Unauthorized"}
        return web.json_response(MAP if known else refusal, status=200 if known else 401)

    return answer


async def test_a_refused_token_is_read_again_and_the_request_repeated_once(
    fake: FakeApi, token_file: Path
) -> None:
    fake.on(f"GET {MAP_PATH}", _accepts("first"))
    config = KubeConfig(
        server=fake.url, namespace="mine", token="first", files=CredentialFiles(token=token_file)
    )
    async with Client(config) as client:
        await client.get("v1", "ConfigMap", "a")
        fake.on(f"GET {MAP_PATH}", _accepts("second"))
        token_file.write_text("second\n")
        await client.get("v1", "ConfigMap", "a")
        asked = fake.asked(f"GET {MAP_PATH}")
        fake.on(f"GET {MAP_PATH}", _accepts())
        with pytest.raises(Unauthorized):
            await client.get("v1", "ConfigMap", "a")
        assert fake.asked(f"GET {MAP_PATH}") == asked + 1


async def test_a_create_with_a_refused_plugin_credential_is_repeated_with_a_new_one(
    fake: FakeApi, plugin: Plugin, tmp_path: Path
) -> None:
    fake.on("POST /api/v1/namespaces/mine/configmaps", _accepts())
    configured = plugin({"token": "t"}).plugin
    config = KubeConfig(server=fake.url, namespace="mine", plugin=configured)
    async with Client(config) as client:
        with pytest.raises(Unauthorized):
            await client.create(MAP)
    assert fake.asked("POST /api/v1/namespaces/mine/configmaps") == 2
    assert runs(tmp_path) == 2
