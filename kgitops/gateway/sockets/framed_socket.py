"""One side of a connection through the gateway: frames in, frames out, at the other side's pace."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import cast

from kgitops.gateway.sockets.closing import close_when_read, close_when_sent
from kgitops.gateway.sockets.frames import FrameError
from kgitops.gateway.sockets.memory import Admission
from kgitops.gateway.sockets.proxy_protocol import ProxyError, ProxyReader
from kgitops.gateway.sockets.receiving import ReceivedFrames, WakeUps
from kgitops.gateway.sockets.sending import Chunk, SendingQueue
from kgitops.gateway.sockets.socket_owner import FramedSocketOwner
from kgitops.gateway.sockets.tls import TlsSession
from kgitops.gateway.sockets.turns import ReadingTurns


class FramedSocket(asyncio.BufferedProtocol):
    """One socket, its TLS, the frames that come from it, and those that wait to go to it."""

    __slots__ = (
        "_address", "_closed", "_in", "_out", "_owner", "_proxy", "_reading", "_scratch",
        "_stopped", "_tls", "_transport", "_turns", "_wakeups", "_write_bytes",
    )  # fmt: skip

    def __init__(
        self,
        owner: FramedSocketOwner,
        scratch: bytearray,
        *,
        frame_bytes: int,
        write_bytes: int,
        tls: TlsSession | None = None,
        turns: ReadingTurns | None = None,
    ) -> None:
        self._owner = owner
        self._scratch = scratch
        self._in = ReceivedFrames(scratch, frame_bytes, tls)
        self._write_bytes = write_bytes
        self._tls = tls
        self._turns = turns
        self._proxy: ProxyReader | None = None
        self._address = ""
        self._transport: asyncio.Transport | None = None
        self._wakeups: WakeUps | None = None
        self._out = SendingQueue(self._write)
        self._closed = False
        self._reading = True
        self._stopped = 0

    # -- for asyncio ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._write_bytes)
        self._wakeups = WakeUps(self._transport)
        self._owner.on_connect(self)
        if self._tls is not None and self._proxy is None and not self._closed:
            self._shake_hands(self._tls)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (asyncio's signature)
        """The place to read into."""
        if self._proxy is not None or self._closed:
            return memoryview(self._scratch)
        return self._in.place()

    def buffer_updated(self, nbytes: int) -> None:
        """Handle what was read."""
        if self._closed:
            return
        if self._proxy is not None:
            self._read_proxy_header(self._proxy, bytes(self._scratch[:nbytes]))
            return
        self._in.took(nbytes)
        if self._is_secure():
            self._deliver()
            if self._turns is not None and self._in.missing > 0 and not self._closed:
                self._turns.took(self, nbytes)

    def eof_received(self) -> bool:
        """Let the socket be closed."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Forget everything, and tell the owner."""
        self._closed = True
        self._forget()
        self._transport = None
        self._owner.on_close(self)

    def pause_writing(self) -> None:
        """The peer does not fetch what was sent."""
        self._out.full = True
        self._owner.on_write_blocked(self)

    def resume_writing(self) -> None:
        """The peer has fetched it."""
        self._out.full = False
        self._out.flush()
        if not self._out.full and not self._closed:
            self._owner.on_writable(self)

    # -- for the owner -------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """The client's host, which may have come by a PROXY header."""
        if self._address:
            return self._address
        peer = self._transport.get_extra_info("peername") if self._transport else None
        return peer[0] if isinstance(peer, tuple) else ""

    @property
    def asked_for(self) -> str | None:
        """The host name that the client asked for by TLS."""
        return self._tls.asked_for if self._tls else None

    @property
    def certificate(self) -> bytes | None:
        """The certificate that the peer has shown, in DER."""
        return self._tls.certificate if self._tls else None

    @property
    def has_tls(self) -> bool:
        """True if its bytes are encrypted."""
        return self._tls is not None

    @property
    def is_full(self) -> bool:
        """True while the peer does not fetch what it was sent."""
        return self._out.full

    @property
    def is_ready(self) -> bool:
        """True once frames can come, after a PROXY header and the handshake of TLS."""
        return self._proxy is None and (self._tls is None or self._tls.ready)

    def expect_proxy_header(self) -> None:
        """Take the client's address from a header of the PROXY protocol, which has to be there."""
        self._proxy = ProxyReader()

    def ask(self, admit: Admission | None) -> None:
        """Ask this before a large frame is read, for which there may be no memory."""
        self._in.ask(admit)

    def set_max_frame_size(self, frame_bytes: int) -> None:
        """Change the most bytes of a frame."""
        self._in.limit(frame_bytes)

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send a frame that is made of these; large ones wait uncopied until they fit."""
        self._out.send(chunks)

    def pause_reading(self, reason: int) -> None:
        """Read no more, for this reason."""
        self._stopped |= reason
        transport = self._transport
        if self._reading and transport is not None and not transport.is_closing():
            self._reading = False
            transport.pause_reading()

    def resume_reading(self, reason: int) -> None:
        """This reason is gone: read on if there is no other."""
        if not self._stopped & reason:
            return
        self._stopped &= ~reason
        if not self._stopped:
            # Not at once: another side may be in the middle of the place that all reads share.
            asyncio.get_running_loop().call_soon(self._read_on)

    def close(self) -> None:
        """Close the socket once all is sent, or after a short time."""
        transport = self._end()
        if transport is not None:
            close_when_sent(transport)

    def finish(self) -> None:
        """Close the socket once the peer has read what was sent."""
        transport = self._end()
        if transport is not None:
            close_when_read(transport, reading=self._reading)
            self._reading = True

    # -- bytes in ------------------------------------------------------------------------------

    def _read_on(self) -> None:
        self._deliver()
        transport = self._transport
        if self._stopped or self._closed or self._reading or transport is None:
            return
        if not transport.is_closing():
            self._reading = True
            transport.resume_reading()

    def _read_proxy_header(self, proxy: ProxyReader, data: bytes) -> None:
        try:
            rest = proxy.feed(data)
        except ProxyError as error:
            self._owner.on_error(self, error)
            return
        if rest is None:
            return
        self._address, self._proxy = proxy.client, None
        self._in.feed(rest)
        if self._is_secure():
            self._deliver()

    def _is_secure(self) -> bool:
        """True once frames can come; continue agreeing on keys until then."""
        tls = self._tls
        return tls is None or tls.ready or self._shake_hands(tls)

    def _shake_hands(self, tls: TlsSession) -> bool:
        try:
            done = tls.handshake()
        except (ssl.SSLError, ValueError) as error:
            self._send_waiting(tls)  # the alert that tells the peer why
            self._owner.on_error(self, error)
            return False
        self._send_waiting(tls)
        if done:
            self._owner.on_tls(self)
        return done

    def _deliver(self) -> None:
        """Hand over the frames that are whole, until there is a reason to stop."""
        try:
            while not self._stopped and not self._closed:
                frame = self._in.next()
                if frame is None:
                    self._expect_more()
                    break
                self._owner.on_frame(self, frame)
        except (FrameError, ssl.SSLError) as error:
            self._owner.on_error(self, error)
        finally:
            self._in.settle()

    def _expect_more(self) -> None:
        if self._tls is not None:
            self._send_waiting(self._tls)
        if self._transport is None:
            return
        if self._in.ended:
            self._transport.close()
        elif self._wakeups is not None:
            self._wakeups.expect(self._in.missing)

    # -- bytes out -----------------------------------------------------------------------------

    def _write(self, data: Chunk) -> None:
        if self._transport is None or self._closed:
            return
        if self._tls is not None:
            try:
                data = self._tls.write(data)
            except ssl.SSLError as error:
                self._owner.on_error(self, error)
                return
        self._transport.write(data)

    def _send_waiting(self, tls: TlsSession) -> None:
        data = tls.waiting()
        if data and self._transport is not None:
            self._transport.write(data)

    def _end(self) -> asyncio.Transport | None:
        """Take and give no more; the socket, if there is one to close."""
        transport = None if self._closed else self._transport
        self._closed = True
        if transport is not None and self._tls is not None and self._tls.ready:
            transport.write(self._tls.close())
        self._forget()
        return transport

    def _forget(self) -> None:
        self._out.clear()
        self._in.clear()
