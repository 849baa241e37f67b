"""The settings of a listener: address, protocol, logins, certificates; never open to a network."""

import ipaddress
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.errors import UsageError
from kgitops.model.resources.names import is_loopback
from kgitops.serve.listening.open_connections import ConnectionLimits

LOOPBACK = "127.0.0.1"
PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)
_READABLE = {PLAIN: "PLAIN passwords", OAUTHBEARER: "OAUTHBEARER tokens"}
"""The mechanisms by which clients send what lets anyone in who has it."""


class SecurityProtocol(StrEnum):
    """Kafka's name for the way that connections are encrypted and clients log in."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def tls(self) -> bool:
        """True if connections are encrypted."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def sasl(self) -> bool:
        """True if clients log in by a SASL mechanism."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class ClientAuth(StrEnum):
    """``ssl.client.auth``: the need for a certificate of the client's own."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


class PrincipalRule(Struct, frozen=True):
    """A rule of ``ssl.principal.mapping.rules``; without a pattern it is DEFAULT."""

    pattern: str | None = None
    replacement: str = ""
    case: str = ""
    """``L`` or ``U`` where the result is to be lower or upper case."""


class TlsSettings(Struct, frozen=True, kw_only=True):
    """Certificates and a private key, as PEM."""

    chain: str
    """The server's certificate and those up to its authority."""
    key: str
    key_password: str | None = None
    trusted: str | None = None
    """The authorities that clients' certificates are signed by."""
    client_auth: ClientAuth = ClientAuth.NONE
    rules: tuple[PrincipalRule, ...] = (PrincipalRule(),)

    def __repr__(self) -> str:
        """Without the key."""
        return f"TlsSettings(client_auth={self.client_auth!r})"


class OAuthSettings(Struct, frozen=True, kw_only=True):
    """The checks of a token (``sasl.oauthbearer.*``)."""

    keys_url: str
    audiences: tuple[str, ...] = ()
    issuer: str | None = None
    name_claim: str = "sub"
    clock_skew_s: int = 30


class SaslSettings(Struct, frozen=True, kw_only=True):
    """The mechanisms of a listener, in the order in which clients are told them."""

    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str] = field(default_factory=dict)
    """PLAIN's users."""
    oauth: OAuthSettings | None = None
    max_reauth_ms: Mapping[str, int] = field(default_factory=dict)
    """``connections.max.reauth.ms`` by mechanism; missing where sessions have no end (KIP-368)."""

    def __repr__(self) -> str:
        """Without passwords."""
        return f"SaslSettings(mechanisms={self.mechanisms!r})"


class ListenerSettings(Struct, frozen=True, kw_only=True):
    """The listener of every broker: their ports follow one another."""

    name: str = "PLAINTEXT"
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    host: str = LOOPBACK
    port: int = 9092
    advertised_host: str | None = None
    """The host that clients are told, if it is another than the one that is listened on."""
    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None
    limits: ConnectionLimits = ConnectionLimits()
    failure_delay_ms: int = 100
    """``connection.failed.authentication.delay.ms``."""
    super_users: frozenset[str] = frozenset()
    authorizes: bool | None = None
    """``authorizer.class.name``: True for one that asks ACLs, False for none; None if not set."""

    @property
    def asks_for_login(self) -> bool:
        """True if nobody gets in without a password, a token or a certificate."""
        if self.sasl is not None:
            return True
        return self.tls is not None and self.tls.client_auth is ClientAuth.REQUIRED


def check_exposure(settings: ListenerSettings, *, allow_anonymous: bool = False) -> None:
    """Refuse a listener that anyone on a network could use.

    Raises:
        UsageError: it is beyond loopback, and lets in whoever comes, or passwords can be read.
    """
    if is_loopback(settings.host):
        return
    address = f"the listener {settings.name} on {settings.host}"
    if not settings.asks_for_login and not allow_anonymous:
        raise UsageError(
            f"{address} would be open to everybody; set sasl.enabled.mechanisms or "
            "ssl.client.auth=required in the cluster's configs, listen on 127.0.0.1, or give "
            "--allow-anonymous"
        )
    mechanisms = settings.sasl.mechanisms if settings.sasl and not settings.protocol.tls else ()
    for mechanism, secrets in _READABLE.items():
        if mechanism in mechanisms:
            raise UsageError(
                f"{address} would take {secrets} without TLS, which anybody on the way can read; "
                "use SASL_SSL in listener.security.protocol.map, or SCRAM instead of "
                f"{mechanism}"
            )
    if settings.advertised_host is None and _is_unspecified(settings.host):
        raise UsageError(
            f"{address} needs an address that clients can connect to; give it in "
            "advertised.listeners"
        )


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
