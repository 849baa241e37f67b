"""ConnectionLimits on what connections may take, so that none can harm another."""

from msgspec import Struct


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """The limits of a listener; times are in seconds, sizes in bytes."""

    connections: int = 1000
    frame: int = 100 * 1024 * 1024
    """``socket.request.max.bytes`` of a broker."""
    frame_before_login: int = 512 * 1024
    """Kafka's own limit on what is not logged in yet."""
    waiting_frames: int = 64
    """Whole requests that wait for the one before them; then no more are read."""
    waiting_bytes: int = 1024 * 1024
    """Bytes of answers that a client has not fetched; then no more of its requests are answered."""
    idle: float = 600
    """``connections.max.idle.ms`` of a broker. Only whole requests count as activity."""
    login: float = 10
    """Time for a TLS handshake, and for a login."""
