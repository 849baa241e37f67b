"""The connection that sockets belong to: what they report, and why it pauses reading one."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kgitops.gateway.sockets.framed_socket import FramedSocket


class PauseReason:
    """The reasons not to read a socket, as bits of a number."""

    DIALING = 1
    """The other socket of the connection is not connected yet."""
    FULL = 2
    """The other socket has too many bytes still to write."""
    PENDING = 4
    """Enough requests are in flight."""
    ENDING = 8
    """The connection ends with the responses in flight."""
    UNREAD = 32
    """The client does not read its responses, the gateway's own among them."""
    REWRITING = 64
    """A thread changes a long frame."""


class FramedSocketOwner(Protocol):
    """The connection that a socket belongs to."""

    def on_connect(self, side: "FramedSocket") -> None: ...

    def on_tls(self, side: "FramedSocket") -> None:
        """The TLS handshake succeeded."""
        ...

    def on_frame(self, side: "FramedSocket", frame: bytearray) -> None:
        """A whole frame arrived."""
        ...

    def on_write_blocked(self, side: "FramedSocket") -> None:
        """Too many bytes wait to be written."""
        ...

    def on_writable(self, side: "FramedSocket") -> None:
        """There is room to write again."""
        ...

    def on_error(self, side: "FramedSocket", error: Exception) -> None:
        """The peer broke the protocol."""
        ...

    def on_close(self, side: "FramedSocket") -> None:
        """The socket is closed."""
        ...
