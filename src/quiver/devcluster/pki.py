"""The certificates of one API server: its CA, and a key pair for everybody who talks to it."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=365)
CLOCK_SKEW = datetime.timedelta(minutes=5)


class Authority:
    """Signs certificates for one cluster and writes them into one folder."""

    def __init__(self, folder: Path, *, now: datetime.datetime, name: str = "quiver-dev") -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._now = now
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}-ca")])
        builder = self._builder(self._subject, self._key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_ca_usage(), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self._write("ca", self._key, self._certificate)

    def issue(
        self, file: str, common_name: str, *, organization: str = "", names: Sequence[str] = ()
    ) -> None:
        """Write `file`.crt and `file`.key, good both for serving and for calling."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organization:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = self._builder(x509.Name(attributes), key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if names:
            alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        self._write(file, key, builder.sign(self._key, hashes.SHA256()))

    def issue_signing_key(self, file: str) -> None:
        """A bare key pair, for service account tokens: `file`.key and `file`.pub."""
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(self._folder / f"{file}.key", key)
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (self._folder / f"{file}.pub").write_bytes(public)

    def _builder(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer_name=self._subject, subject_name=subject)
        builder = builder.public_key(public_key).serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(self._now - CLOCK_SKEW)
        builder = builder.not_valid_after(self._now + LIFETIME)
        key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(key_id, critical=False)
        subject_id = x509.SubjectKeyIdentifier.from_public_key(public_key)
        return builder.add_extension(subject_id, critical=False)

    def _write(self, file: str, key: ec.EllipticCurvePrivateKey, cert: x509.Certificate) -> None:
        _write_key(self._folder / f"{file}.key", key)
        pem = cert.public_bytes(serialization.Encoding.PEM)
        (self._folder / f"{file}.crt").write_bytes(pem)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _ca_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
