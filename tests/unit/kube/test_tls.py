"""TLS to the API server: who is trusted, who we are, and what a connection costs."""

import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from quiver.kube import Client, ConfigError, CredentialError, KubeConfig, Unreachable
from quiver.kube.config import CredentialFiles
from quiver.kube.tls import CONTEXTS_KEPT, _context, context_for
from unit.kube.fake_api import FakeApi, serving


class Pair:
    """A self-signed certificate and its key."""

    def __init__(self, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names: list[x509.GeneralName] = [x509.DNSName(name)]
        if name[0].isdigit():
            names = [x509.IPAddress(ip_address(name))]
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        self.certificate = certificate.public_bytes(pem).decode()
        self.key = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()


def server_context(pair: Pair, folder: Path, *, clients: str = "") -> ssl.SSLContext:
    (folder / "server.pem").write_text(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients)
    return context


LOCAL = Pair("127.0.0.1")
NAMED = Pair("api.example.com")
ME, ME_LATER = Pair("me"), Pair("me-later")


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with serving(server_context(LOCAL, tmp_path)) as api:
        yield api


@pytest.fixture
async def named(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with serving(server_context(NAMED, tmp_path)) as api:
        yield api


@pytest.fixture
async def mutual(tmp_path: Path) -> AsyncIterator[FakeApi]:
    clients = ME.certificate + ME_LATER.certificate
    async with serving(server_context(LOCAL, tmp_path, clients=clients)) as api:
        yield api


async def ask(config: KubeConfig) -> None:
    async with Client(config, deadline=5.0) as client:
        await client.raw("GET", "/api/v1")


async def test_a_server_of_our_ca_is_trusted_and_no_other(local: FakeApi) -> None:
    await ask(KubeConfig(server=local.url, ca=LOCAL.certificate))
    with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        await ask(KubeConfig(server=local.url, ca=NAMED.certificate))


async def test_a_server_may_have_another_name_than_its_address(named: FakeApi) -> None:
    ca = NAMED.certificate
    with pytest.raises(Unreachable):
        await ask(KubeConfig(server=named.url, ca=ca))
    await ask(KubeConfig(server=named.url, ca=ca, tls_server_name="api.example.com"))


async def test_verification_can_be_switched_off_and_only_then_is(named: FakeApi) -> None:
    with pytest.raises(Unreachable):
        await ask(KubeConfig(server=named.url))
    await ask(KubeConfig(server=named.url, insecure_skip_tls_verify=True))


async def test_a_rotated_client_certificate_is_used_for_the_next_request(
    mutual: FakeApi, tmp_path: Path
) -> None:
    files = CredentialFiles(certificate=tmp_path / "me.crt", key=tmp_path / "me.key")

    def put(pair: Pair) -> None:
        (tmp_path / "me.crt").write_text(pair.certificate)
        (tmp_path / "me.key").write_text(pair.key)

    put(ME_LATER)
    stranger = Pair("stranger")
    config = KubeConfig(
        server=mutual.url, ca=LOCAL.certificate, files=files,
        certificate=stranger.certificate, key=stranger.key,
    )  # fmt: skip
    await ask(config)
    put(stranger)
    with pytest.raises(Unreachable):
        await ask(config)


async def test_a_certificate_whose_key_is_not_there_yet_is_told_and_may_come_right(
    mutual: FakeApi, tmp_path: Path
) -> None:
    files = CredentialFiles(certificate=tmp_path / "me.crt", key=tmp_path / "me.key")
    files_of_two_pairs = ((files.certificate, ME_LATER.certificate), (files.key, ME.key))
    for path, text in files_of_two_pairs:
        assert path is not None
        path.write_text(text)
    config = KubeConfig(server=mutual.url, ca=LOCAL.certificate, files=files)
    with pytest.raises(CredentialError, match="KEY_VALUES_MISMATCH") as failure:
        await ask(config)
    assert failure.value.is_transient


async def test_a_configuration_that_cannot_work_is_told_at_the_start() -> None:
    with pytest.raises(ConfigError):
        await Client(KubeConfig(server="https://x", ca="no certificate")).__aenter__()


def test_one_ca_and_certificate_have_one_context() -> None:
    first = context_for(ca=LOCAL.certificate, certificate=ME.certificate, key=ME.key)
    again = KubeConfig(
        server="https://x", ca=LOCAL.certificate, certificate=ME.certificate, key=ME.key
    )
    assert again.tls() is first
    assert context_for(ca=LOCAL.certificate) is not first


def test_the_contexts_that_are_kept_have_a_limit() -> None:
    assert _context.cache_info().maxsize == CONTEXTS_KEPT


def test_a_certificate_that_cannot_be_used_is_one_sentence_without_it() -> None:
    with pytest.raises(ConfigError, match="the CA or the client certificate cannot be used"):
        context_for(ca="no certificate")
    with pytest.raises(ConfigError) as refusal:
        context_for(ca=None, certificate=ME.certificate, key="my private key")
    assert "private" not in str(refusal.value)


def test_a_standing_connection_costs_less_than_100_kib_on_the_operator_s_loop(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.pem").write_text(LOCAL.certificate + LOCAL.key)
    (tmp_path / "ca.pem").write_text(LOCAL.certificate)
    measured = subprocess.run(
        [sys.executable, Path(__file__).with_name("connection_cost.py"), tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert measured.returncode == 0, measured.stderr
    assert float(measured.stdout) < 100
