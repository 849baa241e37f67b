"""The broker's end of a connection: opened for the first request, which waits for it."""

import asyncio
from typing import Protocol

from kgitops.gateway.connections.certificate_logins import CertificateLogin
from kgitops.gateway.connections.parts import SharedParts
from kgitops.gateway.connections.refusals import RefusalReason, RefusedError
from kgitops.gateway.credentials.broker_login import BrokerLogin, BrokerLoginError
from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.memory import ConnectionMemory
from kgitops.gateway.sockets.socket_owner import FramedSocketOwner
from kgitops.gateway.sockets.tls import TlsSession


class UpstreamOwner(FramedSocketOwner, Protocol):
    """The connection that a broker's end is of."""

    def ready(self, first: bytearray, lifetime_s: float) -> None:
        """Requests can go to the broker, the first one as well; 0 s stand for any time."""
        ...

    def refuse(self, reason: str, sentence: str) -> None:
        """Close the connection, and tell why."""
        ...


class UpstreamConnection:
    """The side to the broker, once it is there, and what has to be done before requests go to it.

    ``certificate`` is the login of a client that showed one: the gateway logs in in its place.
    """

    __slots__ = (
        "_certificate", "_closed", "_dialing", "_first", "_login", "_memory", "_owner", "_parts",
        "side",
    )  # fmt: skip

    def __init__(
        self,
        owner: UpstreamOwner,
        parts: SharedParts,
        memory: ConnectionMemory,
        certificate: CertificateLogin | None,
    ) -> None:
        self._owner, self._parts, self._memory = owner, parts, memory
        self._certificate = certificate
        self._login: BrokerLogin | None = None
        self._first: bytearray | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._closed = False
        self.side: FramedSocket | None = None

    @property
    def is_waited_for(self) -> bool:
        """True while the first request waits."""
        return self._first is not None

    @property
    def is_ready(self) -> bool:
        """True once requests can go to it."""
        return self.side is not None and self._first is None

    def dial(self, node: int | None, first: bytearray) -> None:
        """Connect to the broker with this id, or to any, for this request."""
        self._first = first
        self._dialing = asyncio.get_running_loop().create_task(self._connect(node))

    def connected(self, side: FramedSocket) -> None:
        """The socket is there; where there is TLS, ``secured`` comes next."""
        self.side = side
        if self._closed:
            side.close()
        elif not side.has_tls:
            self.secured()

    def secured(self) -> None:
        """Log in to the broker, if the client does not do that itself."""
        login = self._certificate.begin() if self._certificate else None
        if login is None or self.side is None:
            self._ready(0.0)
        else:
            self._login = login
            self.side.send((login.first(),))

    def logs_in(self, frame: bytearray) -> bool:
        """Take a frame of the broker if it answers the gateway's login; False if it does not.

        Raises:
            RefusedError: the broker refuses the login.
        """
        login = self._login
        if login is None or self.side is None:
            return False
        try:
            more = login.next(bytes(frame))
        except BrokerLoginError as error:
            raise RefusedError(RefusalReason.CERTIFICATE, f"its credential: {error}") from None
        if more is not None:
            self.side.send((more,))
        else:
            self._login = None
            self._ready(login.lifetime_s)
        return True

    def close(self) -> None:
        """Close the socket, or stop dialing."""
        self._closed = True
        if self._dialing is not None:
            self._dialing.cancel()
        if self.side is not None:
            self.side.close()
        self._first = None

    async def _connect(self, node: int | None) -> None:
        try:
            credential = self._certificate.credential if self._certificate else None
            tls = credential.tls if credential else None
            await self._parts.brokers.connect(node, self._make_side, tls)
        except (OSError, ValueError) as error:
            self._owner.refuse(RefusalReason.BROKER, str(error))
        finally:
            self._dialing = None

    def _make_side(self, tls: TlsSession | None) -> FramedSocket:
        limits = self._parts.limits
        side = FramedSocket(
            self._owner,
            self._parts.scratch,
            frame_bytes=limits.response_bytes,
            write_bytes=limits.write_bytes,
            tls=tls,
            turns=self._parts.turns,
        )
        side.ask(self._memory.of(side))
        return side

    def _ready(self, lifetime_s: float) -> None:
        first, self._first = self._first, None
        if first is not None:
            self._owner.ready(first, lifetime_s)
