"""Limits of connections, so that none can harm another, and the gateway can't be filled up."""

from msgspec import Struct

SCRATCH_BYTES = 256 * 1024
"""The place for small reads that all connections of an event loop share."""
PIECE_BYTES = 256 * 1024
"""Bytes that are handed to a socket at once; more of them wait in their frame, uncopied."""
TURN_BYTES = 512 * 1024
"""Bytes of large frames that are read in one turn of the event loop: less than a millisecond."""


class GatewayLimits(Struct, frozen=True, kw_only=True):
    """Limits of the gateway; times are in seconds, sizes in bytes."""

    connections: int = 10_000
    """Of clients, in one process."""
    request_bytes: int = 100 * 1024 * 1024
    """As a broker's ``socket.request.max.bytes``."""
    request_bytes_before_login: int = 512 * 1024
    """As a broker's ``sasl.server.max.receive.size``."""
    response_bytes: int = 256 * 1024 * 1024
    """Of one response of a broker; ``fetch.max.bytes`` of the brokers is what bounds most."""
    pending: int = 100
    """Requests of a connection whose responses are not there yet; then no more are read."""
    write_bytes: int = 256 * 1024
    """Bytes that the other end has not fetched; then no more are read that go to it."""
    memory_bytes: int = 0
    """Of large frames of all connections of a process together; 0: any."""
    login_s: float = 30
    """Time for a PROXY header, a TLS handshake and a login together."""
    connect_s: float = 10
    """Time to reach a broker."""
    idle_s: float = 660
    """Time without a request or a response; brokers end such connections after 600 by default."""
    age_s: float = 0
    """Time after which a connection is closed between two requests; 0: it may get any age."""
    drain_s: float = 30
    """Time for requests in flight once the gateway is told to end."""
