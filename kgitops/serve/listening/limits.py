"""Limits on connections and on requests, so that none can harm another."""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

_ENVELOPE = 64 * 1024
"""Bytes of an Envelope beside the request and the name of who sent it, and many more."""


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """The limits of a listener; times are in seconds, sizes in bytes."""

    connections: int = 1000
    """``max.connections`` of a broker; here they are those of all listeners together."""
    connections_per_host: int = 800
    """``max.connections.per.ip``: one host leaves room for others."""
    frame: int = 100 * 1024 * 1024
    """``socket.request.max.bytes`` of a broker."""
    frame_before_login: int = 512 * 1024
    """``sasl.server.max.receive.size`` of a broker."""
    waiting_frames: int = 64
    """Whole requests that wait for the one before them; then no more are read.

    A broker's, which do not wait for each other, are as many that wait for their answers.
    """
    waiting_bytes: int = 1024 * 1024
    """Bytes of answers that a client has not fetched; then no more of its requests are answered.

    The same for requests that wait; then no more are read.
    """
    held: int = 512 * 1024 * 1024
    """``queued.max.request.bytes``: those of all connections together, whole requests or not."""
    idle: float = 600
    """``connections.max.idle.ms`` of a broker. Only whole requests count as activity."""
    login: float = 10
    """Time for a TLS handshake, and for a login."""

    def with_room_for_envelopes(self) -> Self:
        """Those of a controller: a broker takes the largest request, and sends it in an Envelope.

        All clients of a broker share its one connection, which none of them may end.
        """
        around = self.frame_before_login + _ENVELOPE
        return replace(self, frame=self.frame + around, held=2 * self.held + around)
