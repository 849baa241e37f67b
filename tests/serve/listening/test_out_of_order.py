"""Answers that later requests of a connection don't wait for."""

import asyncio
import logging
from collections.abc import Awaitable

import pytest

from kgitops.serve.listening.answering import (
    Answer,
    ClientConnection,
    CloseConnectionError,
    OutOfOrder,
)
from kgitops.serve.listening.open_connections import ClosingLog, ConnectionLimits, OpenConnections
from kgitops.serve.listening.protocol import KafkaProtocol, Listener
from kgitops.serve.nodes import Endpoint, Node, NodeKind

CONTROLLER = Node(
    id=3000, kind=NodeKind.CONTROLLER, listener="CONTROLLER", endpoint=Endpoint("h", 1)
)


class FakeTransport(asyncio.Transport):
    """Keeps what is written, and knows if it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.reads = True
        self.closed = False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("h", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


class Connection:
    """A connection whose requests are answered when the test says so.

    Those in capital letters wait for each other.
    """

    def __init__(self, **limits: int) -> None:
        self.limits = ConnectionLimits(**limits)
        self.open = OpenConnections(self.limits)
        self.asked: dict[bytes, asyncio.Future[Answer]] = {}
        self.transport = FakeTransport()
        self.protocol = KafkaProtocol(
            Listener(
                answer=self.answer,
                make_connection=lambda host: ClientConnection(node=CONTROLLER, host=host),
                limits=self.limits,
                open=self.open,
                log=ClosingLog(),
            )
        )
        self.protocol.connection_made(self.transport)

    def answer(self, data: bytes, _: ClientConnection) -> Awaitable[Answer] | OutOfOrder:
        name = data[-1:]
        self.asked[name] = asyncio.get_running_loop().create_future()
        return self.asked[name] if name.isupper() else OutOfOrder(self.asked[name])

    async def receive(self, names: str) -> None:
        # A frame is 8 bytes at least: the header of a request.
        for name in names:
            self.protocol.data_received(b"\0\0\0\x08" + bytes(7) + name.encode())
        await settled()

    async def give(self, name: str) -> None:
        self.asked[name.encode()].set_result(name.encode())
        await settled()

    @property
    def names(self) -> str:
        return b"".join(self.asked).decode()


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_they_come_as_they_are_ready() -> None:
    async def run() -> None:
        connection = Connection()
        await connection.receive("abAcBd")
        assert connection.names == "abA"
        await connection.give("b")
        assert connection.transport.written == b"b"
        await connection.give("A")
        assert connection.names == "abAcB"
        for name in "cBda":
            await connection.give(name)
        assert connection.transport.written == b"bAcBda"

    asyncio.run(run())


def test_no_more_are_asked_for_than_may_wait() -> None:
    async def run() -> None:
        connection = Connection(waiting_frames=2)
        await connection.receive("a")
        assert connection.transport.reads
        await connection.receive("bcd")
        assert connection.names == "ab"
        assert not connection.transport.reads
        await connection.give("b")
        assert connection.names == "abc"
        assert not connection.transport.reads
        await connection.give("a")
        await connection.give("c")
        assert connection.names == "abcd"
        assert connection.transport.reads

    asyncio.run(run())


def test_their_bytes_are_held_until_they_are_answered() -> None:
    async def run() -> None:
        connection = Connection(waiting_bytes=16)
        await connection.receive("ab")
        assert connection.open._held == 16
        assert not connection.transport.reads
        await connection.give("a")
        assert connection.open._held == 8
        assert connection.transport.reads
        await connection.give("b")
        assert connection.open._held == 0

    asyncio.run(run())


def test_no_other_is_asked_for_while_the_client_fetches_nothing() -> None:
    async def run() -> None:
        connection = Connection()
        await connection.receive("a")
        connection.protocol.pause_writing()
        await connection.receive("b")
        await connection.give("a")
        assert connection.names == "a"
        connection.protocol.resume_writing()
        await settled()
        assert connection.names == "ab"

    asyncio.run(run())


def test_a_lost_connection_waits_for_none_of_them() -> None:
    async def run() -> None:
        connection = Connection()
        await connection.receive("abA")
        connection.protocol.connection_lost(None)
        await settled()
        assert all(asked.cancelled() for asked in connection.asked.values())
        assert connection.open._held == 0
        assert len(connection.open) == 0

    asyncio.run(run())


@pytest.mark.parametrize("waiting", ["b", "A"])
def test_one_that_fails_costs_the_connection(
    caplog: pytest.LogCaptureFixture, waiting: str
) -> None:
    """And what else it waits for ends with it, in its order or not."""

    async def run() -> None:
        connection = Connection()
        await connection.receive(f"a{waiting}")
        connection.asked[b"a"].set_exception(CloseConnectionError("no", answer=b"last"))
        await settled()
        assert connection.transport.closed
        assert connection.transport.written == b"last"
        connection.protocol.connection_lost(None)
        await settled()
        assert connection.asked[waiting.encode()].cancelled()
        assert connection.open._held == 0

    with caplog.at_level(logging.INFO):
        asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "a connection from h is closed: no"
    ]


def test_a_connection_that_waits_for_one_is_not_idle() -> None:
    async def run() -> None:
        connection = Connection()
        await connection.receive("a")
        connection.protocol._active_at -= 2 * connection.limits.idle
        connection.protocol._check_time()
        assert not connection.transport.closed
        await connection.give("a")
        connection.protocol._active_at -= 2 * connection.limits.idle
        connection.protocol._check_time()
        assert connection.transport.closed

    asyncio.run(run())
