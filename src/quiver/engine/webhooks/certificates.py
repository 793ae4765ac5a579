"""Certificates for the webhook server: making them, and seeing what is wrong with them.

Each serving certificate has an authority of its own, whose key signs this one certificate and is
then forgotten. So there is no authority's key to keep, steal or lose: whoever reads the Secret can
pose as this webhook until the certificate expires, and can make no other. The price is that every
renewal changes the authority; but then the way that is walked in an emergency is the one that is
walked every two months (`rotation.py`).
"""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from quiver.kube.secretive import Secretive

LIFETIME = timedelta(days=90)
CLOCK_SKEW = timedelta(hours=1)

_PEM = serialization.Encoding.PEM


class Pair(Secretive, frozen=True, kw_only=True):
    """A certificate and its key, as PEM."""

    hidden = frozenset({"key"})

    certificate: bytes
    key: bytes


def issued(
    names: Sequence[str], *, now: datetime, lifetime: timedelta = LIFETIME
) -> tuple[bytes, Pair]:
    """A new authority's certificate, and the certificate for these names that it signed."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    subject = _name(f"quiver webhooks {x509.random_serial_number():x}"[:60])
    window = (now - CLOCK_SKEW, now + lifetime)
    authority = _builder(subject, subject, authority_key, authority_key, window)
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
    authority = authority.add_extension(_signs_certificates(), True)
    serving = _builder(_name(names[0][:60]), subject, key, authority_key, window)
    serving = serving.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    serving = serving.add_extension(usage, critical=False)
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    serving = serving.add_extension(alternatives, critical=False)
    signed = [it.sign(authority_key, hashes.SHA256()) for it in (authority, serving)]
    pem = [it.public_bytes(_PEM) for it in signed]
    return pem[0], Pair(certificate=pem[1], key=_key_pem(key))


def renewal_of(pair: Pair) -> datetime:
    """When two thirds of its life are over."""
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return start + (end - start) * 2 / 3


def split_bundle(pem: bytes) -> tuple[bytes, ...]:
    """The certificates of a bundle, each as its own PEM. `ValueError` if there is none."""
    return tuple(it.public_bytes(_PEM) for it in x509.load_pem_x509_certificates(pem))


def problem_with_pair(
    pair: Pair, *, trusted: Sequence[bytes], names: Sequence[str], now: datetime
) -> str | None:
    """Why it cannot be used, as a sentence without secrets. `ValueError` if it is no PEM."""
    certificate = x509.load_pem_x509_certificate(pair.certificate)
    key = serialization.load_pem_private_key(pair.key, password=None)
    if key.public_key() != certificate.public_key():
        return "the key does not belong to the certificate"
    authorities = map(x509.load_pem_x509_certificate, trusted)
    if not any(_was_signed_by(authority, certificate) for authority in authorities):
        return "no authority in ca.crt signed the certificate"
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        return f"the certificate is not valid at {now:%Y-%m-%d %H:%M}"
    if missing := set(names) - _names_in(certificate):
        return f"the certificate is not for {', '.join(sorted(missing))}"
    return None


def _was_signed_by(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names_in(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = map(str, found.get_values_for_type(x509.IPAddress))
    return {*found.get_values_for_type(x509.DNSName), *addresses}


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    window: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer_name=issuer, subject_name=subject)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(window[0]).not_valid_after(window[1])
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(signer, False).add_extension(own, False)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, plain)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _signs_certificates() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
