"""Certificates of a site's own authority: the only file that imports the library for them.

ECDSA on P-256, which every server and client we speak to knows; names stand in the subject's alternative names.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS, LEAF_DAYS = 3652, 397
"""Ten years, and the thirteen months after which browsers believe no server."""
_CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes


def make_authority(name: str, now: datetime, days: int = AUTHORITY_DAYS) -> Issued:
    """An authority that signs servers and clients, and no other authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    unsigned = _begin(subject, subject, key.public_key(), now, days)
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    unsigned = unsigned.add_extension(_usage(signs_certificates=True), critical=True)
    return _signed(unsigned, key, key)


def issue_server(
    authority: Issued,
    name: str,
    hosts: Iterable[str],
    now: datetime,
    days: int = LEAF_DAYS,
    *,
    links: bool = False,
) -> Issued:
    """A certificate for a server that is reached under these names; `links`: it is a client of another one too."""
    names: list[x509.GeneralName] = [_host(host) for host in dict.fromkeys(hosts)]
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, *([ExtendedKeyUsageOID.CLIENT_AUTH] if links else [])]
    return _leaf(authority, name, names, purposes, now, days)


def issue_client(authority: Issued, name: str, now: datetime, days: int = LEAF_DAYS) -> Issued:
    """A certificate that a service shows to servers."""
    return _leaf(authority, name, [x509.DNSName(name)], [ExtendedKeyUsageOID.CLIENT_AUTH], now, days)


def expires(certificate: bytes) -> datetime:
    """When a certificate ends. Raises `ValueError` for what is none."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def _leaf(
    authority: Issued,
    name: str,
    names: list[x509.GeneralName],
    purposes: list[x509.ObjectIdentifier],
    now: datetime,
    days: int,
) -> Issued:
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signer_key = load_pem_private_key(authority.key, None)
    assert isinstance(signer_key, ec.EllipticCurvePrivateKey)  # we made it
    key = ec.generate_private_key(ec.SECP256R1())
    unsigned = _begin(_name(name), signer.subject, key.public_key(), now, days, signer.not_valid_after_utc)
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    unsigned = unsigned.add_extension(_usage(signs_certificates=False), critical=True)
    unsigned = unsigned.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    unsigned = unsigned.add_extension(x509.SubjectAlternativeName(names), critical=False)
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer_key.public_key())
    return _signed(unsigned.add_extension(by, critical=False), key, signer_key)


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    now: datetime,
    days: int,
    at_most: datetime | None = None,
) -> x509.CertificateBuilder:
    end = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - _CLOCKS_DIFFER)
        .not_valid_after(end if at_most is None else min(end, at_most))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _signed(
    unsigned: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> Issued:
    certificate = unsigned.sign(signer, hashes.SHA256())
    return Issued(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _name(name: str) -> x509.Name:
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "EasyRider")
    return x509.Name([organisation, x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def today() -> datetime:
    """The moment from which a certificate made now is valid."""
    return datetime.now(UTC).replace(microsecond=0)
