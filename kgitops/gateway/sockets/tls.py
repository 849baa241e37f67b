"""TLS of one end of a connection, in memory: no buffer of its own but for bytes under way.

asyncio's own TLS sets 256 KiB aside for each connection, which thousands of idle ones can't have.
"""

import ssl
from contextlib import suppress

_RECORD = 64 * 1024
MOST_HELD = 16 * 1024 + 512
"""Bytes from the socket that can't be decrypted yet: those of a record that came in part."""


class NamedTls(ssl.SSLObject):
    """One end of TLS that remembers the host name that the client asked for (SNI)."""

    asked_for: str | None = None


def remember_names(context: ssl.SSLContext) -> None:
    """Let a server's context keep the host names that clients ask for."""
    context.sslobject_class = NamedTls

    def remember(end: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if isinstance(end, NamedTls):
            end.asked_for = name

    context.sni_callback = remember


class TlsSession:
    """One end of TLS between bytes of a socket and bytes of the protocol above."""

    __slots__ = ("_ended", "_incoming", "_object", "_outgoing", "ready")

    def __init__(self, context: ssl.SSLContext, *, server_name: str | None = None) -> None:
        """Begin as the client of a server with this name, or as a server without one."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )
        self._ended = False
        self.ready = False
        """True once both ends agree on keys."""

    @property
    def asked_for(self) -> str | None:
        """The host name that the client asked for."""
        return getattr(self._object, "asked_for", None)

    @property
    def certificate(self) -> bytes | None:
        """The certificate of the other end, in DER, if that was asked for one."""
        return self._object.getpeercert(binary_form=True)

    def receive(self, data: memoryview | bytes) -> None:
        """Take bytes that came from the socket."""
        self._incoming.write(data)

    def handshake(self) -> bool:
        """Go on agreeing on keys; True once that is done.

        Raises:
            ssl.SSLError: the ends can't agree.
        """
        if not self.ready:
            with suppress(ssl.SSLWantReadError):
                self._object.do_handshake()
                self.ready = True
        return self.ready

    def read(self, place: memoryview) -> int | None:
        """Fill the place with decrypted bytes; how many, 0 if there are none, None at the end.

        Raises:
            ssl.SSLError: the bytes are no TLS.
        """
        filled = 0
        most = len(place)
        end, incoming = self._object, self._incoming
        try:
            # To ask for more than there is would raise an error each time.
            while filled < most and not self._ended and (incoming.pending or end.pending()):
                # An SSLObject reads one record of at most 16 KiB at a time.
                count = end.read(most - filled, place[filled:])
                self._ended = not count
                filled += int(count)
        except ssl.SSLWantReadError:
            return filled
        except ssl.SSLZeroReturnError:
            self._ended = True
        return None if self._ended and not filled else filled

    def write(self, data: bytes | bytearray | memoryview) -> bytes:
        """Encrypt bytes; those for the socket.

        Raises:
            ssl.SSLError: the connection was ended.
        """
        view = memoryview(data)
        at = 0
        while at < len(view):
            at += self._object.write(view[at : at + _RECORD])
        return self._outgoing.read()

    def close(self) -> bytes:
        """Say that no more will come; bytes for the socket."""
        with suppress(ssl.SSLError, ValueError):
            self._object.unwrap()
        return self._outgoing.read()

    def waiting(self) -> bytes:
        """Bytes for the socket that reading or the handshake made."""
        return self._outgoing.read() if self._outgoing.pending else b""


def handshake_problem(error: Exception) -> str:
    """The end of the sentence about a client's TLS handshake that failed."""
    reason = getattr(error, "reason", None) or ""
    if reason == "HTTP_REQUEST":
        return "it sent HTTP to a listener for Kafka clients with TLS"
    if reason in ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"):
        return "it does not speak TLS, this listener does"
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "it shows no certificate, and clients log in by certificates here"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    text = reason.lower().replace("_", " ") if reason else "it sent no TLS handshake"
    return f"TLS failed: {text}"
