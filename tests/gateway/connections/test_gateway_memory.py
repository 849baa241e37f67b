"""Large frames of all connections together: no more of them at once than there is memory for."""

import asyncio
import ssl
from pathlib import Path

import psutil
import pytest
from gateway.connections.stand_ins import FORWARDED, Client, StandInBroker, request, running

from kgitops.gateway.sockets.limits import GatewayLimits
from kgitops.gateway.sockets.memory import WAITING, FrameMemory, SideMemory
from kgitops.sandbox.certificates import issue_certificates

MIB = 1024 * 1024
LARGE, CLIENTS = 16 * MIB, 24
LIMITS = GatewayLimits(memory_bytes=2 * LARGE)


class LargeAnswers(StandInBroker):
    """Answers request 1 by many bytes, which it writes piece by piece, and others by none."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while True:
                count = int.from_bytes(await reader.readexactly(4), "big")
                number = (await reader.readexactly(count))[4:8]
                size = LARGE if number == b"\0\0\0\1" else 0
                writer.write((4 + size).to_bytes(4, "big") + number)
                piece = bytes(MIB)
                for _ in range(size // MIB):
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


async def fetched(client: Client) -> None:
    """Take a large answer."""
    async with asyncio.timeout(60):
        assert await client.reader.readexactly(8) == (4 + LARGE).to_bytes(4, "big") + b"\0\0\0\1"
        for _ in range(LARGE // MIB):
            await client.reader.readexactly(MIB)


@pytest.mark.parametrize("tls", [False, True], ids=["plaintext", "TLS"])
async def test_slow_readers_together_take_bounded_memory(tls: bool, tmp_path: Path) -> None:
    """Each answer arrives whole in the end; the small do not wait, and who goes makes room."""
    issued = issue_certificates(tmp_path, [])
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(issued.broker)
    trusting = ssl.create_default_context(cafile=str(issued.authority))

    broker = LargeAnswers(tls=serving if tls else None)
    upstream = trusting if tls else None
    async with running(broker, limits=LIMITS, upstream_tls=upstream) as run:
        clients = [await run.connect() for _ in range(CLIENTS)]
        before = psutil.Process().memory_info().rss
        for client in clients:
            client.writer.transport.pause_reading()
            client.send(request(FORWARDED, 1))
        await run.until_forwarded(CLIENTS)
        await asyncio.sleep(1)
        other = await run.connect()
        assert await other.ask(FORWARDED, 2) == b"\0\0\0\2"
        grown = psutil.Process().memory_info().rss - before
        assert grown < CLIENTS * LARGE / 2, f"{grown / MIB:.0f} MiB"
        for gone in clients[::6]:
            gone.writer.transport.abort()
        left = [client for at, client in enumerate(clients) if at % 6]
        for client in left:
            client.writer.transport.resume_reading()
        await asyncio.gather(*map(fetched, left))


class WaitingSide:
    def __init__(self) -> None:
        self.waits = False

    def pause_reading(self, reason: int) -> None:
        assert reason == WAITING
        self.waits = True

    def resume_reading(self, reason: int) -> None:
        assert reason == WAITING
        self.waits = False


def test_frames_may_take_the_last_byte() -> None:
    memory = FrameMemory(10 * MIB)
    one, two = SideMemory(memory, WaitingSide()), SideMemory(memory, WaitingSide())
    assert one.admit(8 * MIB)
    assert two.admit(2 * MIB)


def test_the_first_to_ask_is_the_first_to_get() -> None:
    memory = FrameMemory(10 * MIB)
    sides = [WaitingSide() for _ in range(5)]
    one, two, three, four, five = (SideMemory(memory, side) for side in sides)
    assert one.admit(8 * MIB)
    assert not two.admit(6 * MIB)
    assert not three.admit(2 * MIB), "it would overtake"
    assert four.admit(MIB), "a small one needs none"
    assert not five.admit(3 * MIB)
    assert [side.waits for side in sides] == [False, True, True, False, True]
    one.release()
    assert [side.waits for side in sides] == [False, False, True, False, True]
    assert two.admit(6 * MIB)
    assert not sides[2].waits
    three.close()
    assert not sides[4].waits, "who goes holds nobody up"
    assert five.admit(3 * MIB)
    for each in (two, five):
        each.close()
    assert memory.used == 0
    assert one.admit(50 * MIB), "one that is larger than all gets it alone"
    assert not two.admit(2 * MIB)
