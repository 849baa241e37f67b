"""A sandbox's own certificate authority, and the certificates that it signs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

_DAYS = 30
_BROKER = "broker"


class Certificates(Struct, frozen=True, kw_only=True):
    """PEM files; ``broker`` and each of ``clients`` hold a private key (PKCS #8) and its chain."""

    authority: Path
    broker: Path
    clients: Mapping[str, Path]


def issue_certificates(folder: Path, names: Sequence[str]) -> Certificates:
    """A new authority, a certificate for brokers on loopback, and one for each client.

    Needs the package cryptography: trimmed Java runtimes lack keytool, and some machines openssl.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key, authority = _signed("kgitops sandbox", None)
    file = folder / "ca.pem"
    file.write_bytes(_pem(authority))
    paths = {name: folder / f"{name}.pem" for name in (_BROKER, *names)}
    for name, path in paths.items():
        own_key, certificate = _signed(name, (key, authority))
        path.touch(mode=0o600)
        path.write_bytes(_key_pem(own_key) + _pem(certificate))
    broker = paths.pop(_BROKER)
    return Certificates(authority=file, broker=broker, clients=paths)


def _signed(
    name: str, by: "tuple[EllipticCurvePrivateKey, Certificate] | None"
) -> "tuple[EllipticCurvePrivateKey, Certificate]":
    """A key and its certificate, signed by the authority ``by``, or by itself without one.

    It has the extensions that strict clients want, as Python's are from 3.13 on (RFC 5280, 4.2.1).
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signing_key, issuer = (by[0], by[1].subject) if by else (key, subject)
    now = datetime.now(UTC)
    hosts = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
    public, signer = key.public_key(), signing_key.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=by is None,
        crl_sign=by is None,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    )
    return key, builder.sign(signing_key, hashes.SHA256())


def _pem(certificate: "Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
