"""Certificates convince whoever checks them, for as long and under the names they were made for."""

import datetime
import stat
import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from quiver.devcluster.pki import CLOCK_SKEW, LIFETIME, Authority

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
NAMES = ["10.89.0.2", "localhost", "kubernetes.default.svc"]


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki") / "1"
    authority = Authority(folder, now=NOW, name="quiver-dev-1")
    authority.issue("apiserver", "kube-apiserver", names=NAMES)
    authority.issue("admin", "kubernetes-admin", organization="system:masters")
    authority.issue_signing_key("sa")
    return folder


def _certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _verify(pki: Path, name: str, *, at: datetime.datetime = NOW) -> None:
    subject = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    policy = PolicyBuilder().store(Store([_certificate(pki / "ca.crt")])).time(at)
    policy.build_server_verifier(subject).verify(_certificate(pki / "apiserver.crt"), [])


@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_believed_under_each_of_its_names(name: str, pki: Path) -> None:
    _verify(pki, name)


@pytest.mark.parametrize("name", ["10.89.0.3", "example.com"])
def test_a_server_is_not_believed_under_another_name(name: str, pki: Path) -> None:
    with pytest.raises(VerificationError):
        _verify(pki, name)


@pytest.mark.parametrize(
    ("at", "valid"),
    [
        (NOW - CLOCK_SKEW - datetime.timedelta(seconds=1), False),
        (NOW - CLOCK_SKEW, True),
        (NOW + LIFETIME, True),
        (NOW + LIFETIME + datetime.timedelta(seconds=1), False),
    ],
)
def test_a_certificate_is_good_from_just_before_now_for_a_year(
    at: datetime.datetime, valid: bool, pki: Path
) -> None:
    if valid:
        _verify(pki, "localhost", at=at)
    else:
        with pytest.raises(VerificationError):
            _verify(pki, "localhost", at=at)


def test_another_cluster_s_authority_is_not_believed(pki: Path, tmp_path: Path) -> None:
    Authority(tmp_path, now=NOW, name="quiver-dev-1")
    stranger = _certificate(tmp_path / "ca.crt")
    with pytest.raises(InvalidSignature):
        _certificate(pki / "admin.crt").verify_directly_issued_by(stranger)


@pytest.mark.parametrize("purpose", ["sslclient", "sslserver"])
@pytest.mark.parametrize("file", ["admin", "apiserver"])
def test_openssl_takes_each_certificate_for_calling_and_for_serving(
    file: str, purpose: str, pki: Path
) -> None:
    at = str(int(NOW.timestamp()))
    command = ["openssl", "verify", "-x509_strict", "-purpose", purpose, "-attime", at, "-CAfile"]
    files = [str(pki / "ca.crt"), str(pki / f"{file}.crt")]
    verdict = subprocess.run([*command, *files], capture_output=True, text=True)
    assert verdict.stdout == f"{files[1]}: OK\n", verdict.stderr


def test_the_subject_is_the_user_and_the_group_that_rbac_sees(pki: Path) -> None:
    subject = _certificate(pki / "admin.crt").subject.rfc4514_string()
    assert subject == "CN=kubernetes-admin,O=system:masters"


def test_a_certificate_cannot_sign_others(pki: Path) -> None:
    extensions = _certificate(pki / "admin.crt").extensions
    with pytest.raises(x509.ExtensionNotFound):
        extensions.get_extension_for_class(x509.BasicConstraints)
    authority = _certificate(pki / "ca.crt").extensions
    assert authority.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize("file", ["ca", "apiserver", "admin"])
def test_each_key_is_the_one_of_its_certificate(file: str, pki: Path) -> None:
    key = load_pem_private_key((pki / f"{file}.key").read_bytes(), password=None)
    assert key.public_key() == _certificate(pki / f"{file}.crt").public_key()


def test_tokens_are_checked_with_the_key_that_belongs_to_the_one_that_signs(pki: Path) -> None:
    private = load_pem_private_key((pki / "sa.key").read_bytes(), password=None)
    public = load_pem_public_key((pki / "sa.pub").read_bytes())
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert private.public_key().public_bytes(*form) == public.public_bytes(*form)


def test_nobody_else_may_read_a_key(pki: Path) -> None:
    keys = {path.name: stat.S_IMODE(path.stat().st_mode) for path in pki.glob("*.key")}
    assert keys == dict.fromkeys(["ca.key", "apiserver.key", "admin.key", "sa.key"], 0o600)
    assert stat.S_IMODE(pki.stat().st_mode) == 0o700


def test_no_two_certificates_share_a_serial_number_or_a_key(pki: Path) -> None:
    certificates = [_certificate(path) for path in pki.glob("*.crt")]
    assert len({it.serial_number for it in certificates}) == len(certificates) == 3
    keys = {
        it.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for it in certificates
    }
    assert len(keys) == 3
