"""Messages for failed TLS handshakes that name the config to set."""

import ssl

from msgspec import Struct

from kgitops.cluster.kafka.configs.client_configs import WireOptions


class Server(Struct, frozen=True, kw_only=True):
    """The host and port on which a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def tls_problem(server: Server, error: BaseException, options: WireOptions) -> tuple[str, str]:
    """Return the cause of a failed TLS handshake, and advice."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _about_certificate(server, error)
    if isinstance(error, TimeoutError):
        return (
            f"{server} accepts connections but does not answer a TLS handshake",
            f"check that it is a broker's TLS port, or set {without_tls(options)}",
        )
    reason = getattr(error, "reason", None) or ""
    if "ALERT" in reason and "PROTOCOL_VERSION" not in reason:
        return client_certificate_problem(server, options)
    if "ALERT" in reason or "UNSUPPORTED_PROTOCOL" in reason:
        return f"{server} speaks no TLS from 1.2 on", "have its broker offer TLSv1.2 or TLSv1.3"
    return (
        f"{server} does not speak TLS",
        f"set {without_tls(options)}, or use the broker's TLS port",
    )


def _about_certificate(server: Server, error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    # The codes are X509_V_ERR_… of OpenSSL's x509_vfy.h.
    match error.verify_code:
        case 10:
            return f"the certificate of {server} has expired", "renew it on the broker"
        case 9:
            return f"the certificate of {server} is not valid yet", "check the clocks"
        case 2 | 18 | 19 | 20 | 21:
            return (
                f"the certificate of {server} is signed by an authority that is not trusted here",
                "set ssl.ca.location to the PEM file of its authority",
            )
        case 62 | 64:
            return (
                f"the certificate of {server} is made out to another host than {server.host}",
                "use the name that is in it, or set ssl.endpoint.identification.algorithm=none",
            )
        case _:
            return (
                f"the certificate of {server} is not accepted: {error.verify_message}",
                "have a certificate issued that is valid for a server",
            )


def client_certificate_problem(server: Server, options: WireOptions) -> tuple[str, str]:
    """Return the problem of a client certificate that is missing or refused, and advice."""
    if options.get("has_certificate"):
        return (
            f"{server} refuses the client certificate",
            "set ssl.certificate.location and ssl.key.location to one that its broker trusts",
        )
    return (
        f"{server} wants a client certificate",
        "set ssl.certificate.location and ssl.key.location",
    )


def without_tls(options: WireOptions) -> str:
    """Return the setting that turns TLS off."""
    protocol = options.get("security_protocol", "")
    return f"security.protocol={'sasl_' if protocol.startswith('SASL') else ''}plaintext"


def with_tls(options: WireOptions) -> str:
    """Return the setting that turns TLS on."""
    protocol = options.get("security_protocol", "")
    return f"security.protocol={'sasl_' if protocol.startswith('SASL') else ''}ssl"
