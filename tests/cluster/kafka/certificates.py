"""Certificates made by the tests: an authority, and what it signs, as PEM files."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority, and the folder its PEM files lie in.

    ``above`` is the authority that signs its certificate, where it does not do so itself.
    """

    def __init__(self, folder: Path, name: str, above: "Authority | None" = None) -> None:
        self.folder = folder
        self.file = folder / f"{name}.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        signer = above or self
        self._certificate = (
            signer._builder(self._name, self._key.public_key(), days=30, signs=True)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(signer._key, hashes.SHA256())
        )
        self.file.write_bytes(_pem(self._certificate))

    def signs_store(self, name: str, password: str | None) -> Path:
        """A PKCS#12 store of a client: its key, its certificate, and that of this authority."""
        pem = self.signs(name).read_bytes()
        key = serialization.load_pem_private_key(pem, None)
        certificate = x509.load_pem_x509_certificate(pem)
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password:
            encryption = serialization.BestAvailableEncryption(password.encode())
        file = self.folder / f"{name}.p12"
        file.write_bytes(
            pkcs12.serialize_key_and_certificates(
                name.encode(), key, certificate, [self._certificate], encryption
            )
        )
        return file

    def signs(
        self, name: str, *, host: str | None = None, days: int = 30, password: str | None = None
    ) -> Path:
        """A file with a key and its certificate: of a server called ``host``, else of a client.

        ``days`` below zero: it ended that long ago.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_named(name), key.public_key(), days=days)
        if host is None:
            usage = ExtendedKeyUsageOID.CLIENT_AUTH
        else:
            usage = ExtendedKeyUsageOID.SERVER_AUTH
            try:
                alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
            except ValueError:
                alternative = x509.DNSName(host)
            builder = builder.add_extension(x509.SubjectAlternativeName([alternative]), False)
        certificate = builder.add_extension(x509.ExtendedKeyUsage([usage]), False).sign(
            self._key, hashes.SHA256()
        )
        file = self.folder / f"{name}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(password.encode())
                if password
                else serialization.NoEncryption(),
            )
            + _pem(certificate)
        )
        return file

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, days: int, signs: bool = False
    ) -> x509.CertificateBuilder:
        """With the extensions that Python's default context wants from 3.13 on."""
        now = datetime.datetime.now(datetime.UTC)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=signs,
            crl_sign=signs,
            encipher_only=False,
            decipher_only=False,
        )
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 60 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(authority, critical=False)
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
