"""The settings of a gateway."""

from pathlib import Path

from msgspec import Struct

from kgitops.gateway.sockets.limits import GatewayLimits
from kgitops.serve.listening.settings import PrincipalRule


class Entrance(Struct, frozen=True, kw_only=True):
    """An address that clients begin with, and what they are told after that."""

    host: str
    port: int
    advertised_host: str
    advertised_port: int | None = None
    """Another port by which clients reach the one of ``sni``."""
    virtual_cluster: str | None = None
    """The virtual cluster that it is bound to."""
    sni: str | None = None
    """The host names of brokers, with ``$(id)`` for a broker's; without it each has a port."""


class GatewayOptions(Struct, frozen=True, kw_only=True):
    """The settings of a gateway, beside those of the cluster behind it; times are in seconds."""

    entrances: tuple[Entrance, ...]
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    """The authorities of clients' certificates, where clients log in by these."""
    credentials: Path | None = None
    """The file of the credentials that such clients have at the brokers."""
    principal_rules: tuple[PrincipalRule, ...] = (PrincipalRule(),)
    allow_plaintext: bool = False
    """Listen beyond loopback without TLS although the brokers ask for it."""
    limits: GatewayLimits = GatewayLimits()
    load_balancers: tuple[str, ...] = ()
    """Networks whose connections begin with a PROXY header."""
    claim: str = "sub"
    """The claim of a token that names its user, as the brokers have it."""
    stale_s: float = 300
    """Age of the names after which new connections are refused."""
    workers: int = 1
    access_log: Path | None = None
    """The file for refusals; without it they go to the standard error stream."""
