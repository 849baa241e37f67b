"""TLS of a listener: Python's ``ssl`` with the certificates of its settings."""

import os
import ssl
import tempfile
from pathlib import Path

from kgitops.model.errors import KgitopsError
from kgitops.serve.listening.settings import ClientAuth, TlsSettings

_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


def tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """The server's side of TLS 1.2 and newer.

    Raises:
        KgitopsError: a certificate or key is not valid, or they don't belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    password = settings.key_password
    try:
        # OpenSSL reads them from a file alone; nobody else may read this one.
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "server.pem"
            file.touch(mode=0o600)
            file.write_text(f"{settings.key}\n{settings.chain}\n", encoding="ascii")
            # Without this function OpenSSL would ask for a password at the terminal.
            context.load_cert_chain(file, password=lambda: password or "")
    except (OSError, ValueError) as error:
        raise KgitopsError(
            "the listener's certificate or its key can't be used "
            f"({_reason(error)}); correct ssl.keystore.certificate.chain, ssl.keystore.key or "
            "ssl.key.password, or the file of ssl.keystore.location"
        ) from None
    if settings.trusted is not None:
        try:
            context.load_verify_locations(cadata=settings.trusted)
        except (ssl.SSLError, ValueError) as error:
            raise KgitopsError(
                f"the listener's truststore can't be used ({_reason(error)}); correct "
                "ssl.truststore.certificates, or the file of ssl.truststore.location"
            ) from None
    context.verify_mode = _VERIFY[settings.client_auth]
    return context


def handshake_problem(error: BaseException) -> str:
    """The end of the sentence about a TLS handshake that failed."""
    reason = getattr(error, "reason", None) or ""
    if reason == "HTTP_REQUEST":
        return "it sent HTTP to a listener for Kafka clients with TLS"
    if reason in ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"):
        return "it does not speak TLS, this listener does"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {_reason(error)}"
    if isinstance(error, TimeoutError | ConnectionAbortedError):
        return "TLS was not set up in time"
    return "it went away before TLS was set up"


def _reason(error: Exception) -> str:
    verified = getattr(error, "verify_message", None)
    reason = getattr(error, "reason", None)
    if verified:
        return str(verified)
    if isinstance(reason, str):
        return reason.lower().replace("_", " ")
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno).lower()
    return "not valid PEM"
