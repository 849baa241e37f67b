"""The parts of a gateway that its connections share, and what a listener tells them."""

import ssl
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, field

from kgitops.gateway.connections.certificate_logins import CurrentCredentials
from kgitops.gateway.connections.counts import ConnectionCounts
from kgitops.gateway.connections.long_frames import LongFrames
from kgitops.gateway.connections.refusals import AccessLog
from kgitops.gateway.connections.rewriter import Rewriter
from kgitops.gateway.naming.name_table import NameTables
from kgitops.gateway.rewriting.exchange import Addresses
from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.limits import SCRATCH_BYTES, GatewayLimits
from kgitops.gateway.sockets.memory import FrameMemory
from kgitops.gateway.sockets.proxy_protocol import Network
from kgitops.gateway.sockets.tls import TlsSession
from kgitops.gateway.sockets.turns import ReadingTurns


class CurrentTables(Protocol):
    """The names of now."""

    @property
    def tables(self) -> NameTables:
        """The newest tables."""
        ...

    @property
    def too_old(self) -> str | None:
        """A sentence, if they are so old that no new connection may be taken."""
        ...


class BrokerConnector(Protocol):
    """The brokers behind the gateway."""

    async def connect(
        self,
        node: int | None,
        make: Callable[[TlsSession | None], FramedSocket],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect a side to the broker with this id, or to any; by this TLS instead of the usual.

        Raises:
            OSError: none can be reached.
        """
        ...


class ListeningSocket(Protocol):
    """A listening socket, as the connections that it accepted see it."""

    @property
    def virtual_cluster(self) -> str | None:
        """The virtual cluster that it is bound to."""
        ...

    @property
    def addresses(self) -> Addresses:
        """The addresses that its clients are told."""
        ...

    def tls(self) -> TlsSession | None:
        """The server's end of TLS for one connection; None where clients use none."""
        ...

    def node(self, asked_for: str | None) -> int | None:
        """The broker that a client means, by the port or by the host name; None for any.

        Raises:
            RefusedError: the host name is none of the gateway's.
        """
        ...


class SharedParts(Struct, kw_only=True):
    """The parts of a gateway that its connections share."""

    tables: CurrentTables
    brokers: BrokerConnector
    new_rewriter: Callable[[], Rewriter]
    log: AccessLog
    limits: GatewayLimits = GatewayLimits()
    sasl: bool = False
    """True if clients log in to the brokers by SASL."""
    claim: str = "sub"
    """The claim of a token that names its user."""
    credentials: CurrentCredentials | None = None
    """The credentials at the brokers of clients that log in by certificates; else nobody does."""
    load_balancers: Sequence[Network] = ()
    """The networks whose connections begin with a PROXY header."""
    counts: ConnectionCounts = field(default_factory=ConnectionCounts)
    long_frames: LongFrames = field(default_factory=LongFrames)
    memory: FrameMemory | None = None
    """The memory of large frames, where it is limited."""
    turns: ReadingTurns = field(default_factory=ReadingTurns)
    scratch: bytearray = field(default_factory=lambda: bytearray(SCRATCH_BYTES))
