"""The pace of either end: nobody makes the gateway hold more than a little for them."""

import asyncio
import socket

import psutil
from gateway.connections.stand_ins import (
    FORWARDED,
    SILENT,
    LateBroker,
    StandInBroker,
    echo,
    request,
    running,
)
from patience import eventually_async

from kgitops.gateway.sockets.limits import GatewayLimits

MIB = 1024 * 1024


def used() -> int:
    return psutil.Process().memory_info().rss


def small_window(port: int) -> socket.socket:
    """A connection whose kernel holds little, so that the gateway is what fills up."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    return client


async def received(client: socket.socket, count: int) -> bytes:
    """So many bytes, into one place."""
    place = bytearray(count)
    at = 0
    async with asyncio.timeout(60):
        while at < count:
            at += await asyncio.get_running_loop().sock_recv_into(client, memoryview(place)[at:])
    return bytes(place)


async def test_responses_that_a_client_does_not_fetch_stay_with_the_broker() -> None:
    answer = bytes(MIB)

    broker = StandInBroker(lambda frame: frame[4:8] + answer)
    async with running(broker) as run:
        client = small_window(run.port)
        loop = asyncio.get_running_loop()
        before = used()
        requests = b"".join(request(FORWARDED, number) for number in range(100))
        await loop.sock_sendall(client, requests)
        await asyncio.sleep(1)
        assert used() - before < 25 * MIB
        assert len(broker.frames) < 30
        for number in range(100):
            data = await received(client, 8 + MIB)
            assert data[4:8] == number.to_bytes(4, "big")
        client.close()


async def test_one_large_response_is_held_once() -> None:
    size = 100 * MIB

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = int.from_bytes(await reader.readexactly(4), "big")
        frame = await reader.readexactly(count)
        writer.write((4 + size).to_bytes(4, "big") + frame[4:8])
        piece = bytes(MIB)
        for _ in range(size // MIB):
            writer.write(piece)
            await writer.drain()
        await reader.read()
        writer.close()

    broker = StandInBroker()
    broker._serve = answer  # type: ignore[method-assign]
    async with running(broker) as run:
        client = small_window(run.port)
        before = used()
        await asyncio.get_running_loop().sock_sendall(client, request(FORWARDED, 1))
        grown: list[int] = []

        def sent() -> int:
            grown.append(used() - before)
            return run.gateway.counts.sent

        await eventually_async(sent, lambda count: count >= size, what="all of it is sent")
        assert max(*grown, used() - before) < 130 * MIB
        assert await received(client, 8) == (4 + size).to_bytes(4, "big") + b"\0\0\0\1"
        for _ in range(100):
            assert await received(client, MIB) == bytes(MIB)
        client.close()


async def test_requests_that_a_broker_does_not_read_stay_with_the_client() -> None:
    may_read = asyncio.Event()

    async def late(frame: bytes) -> bytes | None:
        await may_read.wait()
        return echo(frame)

    broker = StandInBroker(late)
    async with running(broker) as run:
        client = await run.connect()
        body = bytes(MIB)
        before = used()

        async def send() -> None:
            for number in range(100):
                client.send(request(SILENT if number < 99 else FORWARDED, number, body))
                await client.writer.drain()

        sending = asyncio.create_task(send())
        await asyncio.sleep(1)
        assert not sending.done()
        assert used() - before < 40 * MIB
        broker.frames = Forgetful()  # type: ignore[assignment]
        may_read.set()
        await sending
        assert (await client.receive())[:4] == b"\0\0\0\x63"


class Forgetful(list[bytes]):
    """Keeps nothing of what the broker got."""

    def append(self, item: bytes, /) -> None:
        del item


async def test_no_more_requests_are_read_while_enough_wait() -> None:
    broker = LateBroker()
    async with running(broker, limits=GatewayLimits(pending=10)) as run:
        client = await run.connect()
        client.send(*(request(FORWARDED, number) for number in range(1000)))
        await asyncio.sleep(0.3)
        assert sum(run.gateway.counts.requests.values()) == 10
        broker.may_answer.set()
        for number in range(1000):
            assert int.from_bytes((await client.receive())[:4], "big") == number
