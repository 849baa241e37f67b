"""Connections that do nothing cost little."""

import asyncio
import resource
import sys
from pathlib import Path

import psutil
from gateway.connections.stand_ins import FORWARDED, StandInBroker, request, running
from patience import patience_s

MOST = 5_000
BYTES_EACH = 10 * 1024
"""Of both sides of a connection, and of what asyncio has for their two sockets."""


class BrokerElsewhere(StandInBroker):
    """A broker in another process."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port

    async def start(self, port: int = 0) -> None:
        del port

    async def die(self) -> None:
        return


async def test_five_thousand_idle_connections_take_little_memory() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    peers = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("idle_peers.py")),
        str(MOST),
        request(FORWARDED, 9).hex(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        await _grows_little(peers)
    finally:
        if peers.returncode is None:
            peers.kill()
            await peers.wait()


async def _grows_little(peers: asyncio.subprocess.Process) -> None:
    assert peers.stdin is not None
    assert peers.stdout is not None
    async with running(BrokerElsewhere(int(await peers.stdout.readline()))) as run:
        warm = await run.connect()
        await warm.ask(FORWARDED, 1)  # what is imported then is imported
        before = psutil.Process().memory_info().rss
        peers.stdin.write(f"{run.port}\n".encode())
        async with asyncio.timeout(patience_s()):
            assert await peers.stdout.readline() == b"open\n"
        grown = psutil.Process().memory_info().rss - before
        assert len(run.gateway.connections) == MOST + 1
        assert grown < MOST * BYTES_EACH, f"{grown / MOST:,.0f} bytes each"
        peers.stdin.close()
        await peers.wait()
        await run.until_closed(1)
