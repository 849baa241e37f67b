"""The peers of an idle gateway, in a process of their own: a broker, and very many clients.

It prints the broker's port, reads the gateway's, opens the connections, sends a request by each,
prints ``open``, and ends with its standard input.
"""

import asyncio
import resource
import sys


class QuietBroker(asyncio.Protocol):
    """Answers each request by its number."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(b"\0\0\0\4" + data[8:12])


class QuietClient(asyncio.Protocol):
    """Sends a request, and waits for the answer."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.answered = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self.frame)

    def data_received(self, data: bytes) -> None:
        self.answered.set_result(data)


async def main(count: int, frame: bytes) -> None:
    loop = asyncio.get_running_loop()
    broker = await loop.create_server(QuietBroker, "127.0.0.1", 0, backlog=1000)
    print(broker.sockets[0].getsockname()[1], flush=True)
    port = int(await asyncio.to_thread(sys.stdin.readline))

    async def ask() -> None:
        _, client = await loop.create_connection(lambda: QuietClient(frame), "127.0.0.1", port)
        assert await client.answered == b"\0\0\0\4" + frame[8:12]

    for opened in range(0, count, 250):
        await asyncio.gather(*(ask() for _ in range(min(250, count - opened))))
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(main(int(sys.argv[1]), bytes.fromhex(sys.argv[2])))
