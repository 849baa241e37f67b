"""A side sleeps until a good part of a large frame is there, and never for more than will come."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from kgitops.gateway.sockets.framed_socket import FramedSocket
from kgitops.gateway.sockets.limits import SCRATCH_BYTES
from kgitops.gateway.sockets.tls import TlsSession
from kgitops.sandbox.certificates import Certificates, issue_certificates

LIMIT = 1 << 24
SIZES = (10, 70_000, 5, 20_000, 300_000, 1_500_000, 40_000, 100)
PIECES = ((100_000,), (16_406,), (1, 33_000, 4_999), (1460, 65_483))
PATIENT = 32 * 1024


class Owner:
    """Keeps the sizes of the frames that came."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_connect(self, side: FramedSocket) -> None: ...
    def on_tls(self, side: FramedSocket) -> None: ...
    def on_write_blocked(self, side: FramedSocket) -> None: ...
    def on_writable(self, side: FramedSocket) -> None: ...
    def on_close(self, side: FramedSocket) -> None: ...

    def on_frame(self, side: FramedSocket, frame: bytearray) -> None:
        self.sizes.append(len(frame))

    def on_error(self, side: FramedSocket, error: Exception) -> None:
        raise error


class Socket(asyncio.Transport):
    """Keeps what was written, and for how many bytes the reader wants to be woken."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.least = 1

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self if name == "socket" else default

    def setsockopt(self, level: int, option: int, value: int) -> None:
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_RCVLOWAT)
        self.least = value

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("woken"), [])


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("tls", [False, True])
def test_no_side_waits_for_bytes_that_never_come(
    tls: bool, pieces: tuple[int, ...], issued: Certificates
) -> None:
    """Or it would not read the end of a frame before the next one came."""
    side, owner, transport, peer = _side(issued.broker, issued.authority, tls=tls)
    slept = 0
    for number, size in enumerate(SIZES, 1):
        data = size.to_bytes(4, "big") + bytes(size)
        data = peer.write(data) if peer is not None else data
        at, turns = 0, cycle(pieces)
        while at < len(data):
            assert transport.least <= len(data) - at
            # As the operating system does it: no wake-up before so many bytes are there.
            end = min(at + max(next(turns), transport.least), len(data))
            _feed(side, data[at:end])
            at = end
            slept += transport.least > PATIENT
        assert owner.sizes == list(SIZES[:number])
        assert transport.least == 1
    assert slept


def _side(
    certificate: Path, authority: Path, *, tls: bool
) -> tuple[FramedSocket, Owner, Socket, TlsSession | None]:
    owner, transport = Owner(), Socket()
    end = peer = None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, certificate)
        trusting = ssl.create_default_context(cafile=str(authority))
        end, peer = TlsSession(context), TlsSession(trusting, server_name="localhost")
    side = FramedSocket(
        owner, bytearray(SCRATCH_BYTES), frame_bytes=LIMIT, write_bytes=LIMIT, tls=end
    )
    side.connection_made(transport)
    while peer is not None and not (peer.ready and side.is_ready):
        for data in _told(transport):
            peer.receive(data)
        peer.handshake()
        _feed(side, peer.waiting())
    return side, owner, transport, peer


def _told(transport: Socket) -> Iterator[bytes]:
    while transport.written:
        yield transport.written.pop(0)


def _feed(side: FramedSocket, data: bytes) -> None:
    while data:
        place = side.get_buffer(-1)
        count = min(len(place), len(data))
        place[:count] = data[:count]
        del place
        side.buffer_updated(count)
        data = data[count:]
