"""Stand-ins for brokers and for the rewriting, and a gateway between them, in one event loop.

A stand-in broker answers frames by a function. The stand-in rewriter changes nothing: what it does
with a request is said by the API key that the test gave it.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from patience import eventually_async

from kgitops.gateway.credentials.credentials_file import CredentialsFile
from kgitops.gateway.listening.brokers import BrokerAddress
from kgitops.gateway.naming.name_table import NameTable, NameTables
from kgitops.gateway.rewriting.exchange import (
    Addresses,
    Exchange,
    Forward,
    LocalAnswer,
    RefusedFrameError,
    RequestHeader,
)
from kgitops.gateway.running.gateway import BrokersBehind, Gateway
from kgitops.gateway.settings import Entrance, GatewayOptions
from kgitops.gateway.sockets.limits import GatewayLimits
from kgitops.model.resources.virtual_clusters import VirtualCluster
from kgitops.virtual_clusters.image import build_image

SILENT, HANDSHAKE, AUTHENTICATE = 0, 17, 36
FORWARDED, BROKEN, ANSWERED, UNKNOWN = 12, 13, 16, 22
"""Keys of requests: with a response of the broker, one that the rewriting fails at, one that the
gateway answers, and one that it refuses; ``SILENT`` is one without a response."""
_VERSIONS = {SILENT: 7, HANDSHAKE: 1, AUTHENTICATE: 1}

Handler = Callable[[bytes], "bytes | Awaitable[bytes | None] | None"]


class StandInRewriter:
    """Changes nothing."""

    tables: list[NameTable | None] = []  # noqa: RUF012 (a new list for each test)

    def logged_in(self) -> None:
        return

    def request(
        self,
        frame: bytearray,
        header: RequestHeader,
        table: NameTable | None,
        *,
        at_once: bool = False,
    ) -> Forward | LocalAnswer:
        key = header.key
        self.tables.append(table)
        if key == ANSWERED:
            return LocalAnswer(bytes(frame[4:8]) + b"by the gateway" + frame[header.body :])
        if key == UNKNOWN:
            raise RefusedFrameError("api", "API 22 is not understood")
        if key == BROKEN:
            raise KeyError
        exchange = Exchange(
            key=key, version=header.version, correlation_id=header.correlation_id, api=header.api
        )
        return Forward([frame], None if key == SILENT else exchange)

    def response(
        self, frame: bytearray, exchange: Exchange, addresses: Addresses, *, at_once: bool = False
    ) -> list[bytes | bytearray | memoryview]:
        return [frame]

    def close(self) -> None:
        return


def request(key: int, number: int, body: bytes = b"", client_id: str = "test") -> bytes:
    name = client_id.encode()
    version = _VERSIONS.get(key, 0)
    head = key.to_bytes(2, "big") + version.to_bytes(2, "big") + number.to_bytes(4, "big")
    return framed(head + len(name).to_bytes(2, "big") + name + body)


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def echo(frame: bytes) -> bytes | None:
    """The answer of a broker: the number of the request, and all that came after its header."""
    if int.from_bytes(frame[:2], "big") == SILENT:
        return None
    name = int.from_bytes(frame[8:10], "big", signed=True)
    return frame[4:8] + frame[10 + max(0, name) :]


class StandInBroker:
    """Answers each frame of a connection in turn."""

    def __init__(self, handler: Handler = echo, tls: ssl.SSLContext | None = None) -> None:
        self.handler = handler
        self.tls = tls
        self.frames: list[bytes] = []
        self.connections = 0
        self.writers: set[asyncio.StreamWriter] = set()

    async def start(self, port: int = 0) -> None:
        self.server = await asyncio.start_server(
            self._serve, "127.0.0.1", port, limit=1 << 20, ssl=self.tls
        )
        self.port = self.server.sockets[0].getsockname()[1]

    @property
    def address(self) -> BrokerAddress:
        return BrokerAddress("127.0.0.1", self.port)

    async def die(self) -> None:
        self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.add(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = await reader.readexactly(size)
                self.frames.append(frame)
                answer = self.handler(frame)
                if isinstance(answer, Awaitable):
                    answer = await answer
                if answer is not None:
                    writer.write(framed(answer))
                    await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()


class LateBroker(StandInBroker):
    """Answers nothing before it may."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.may_answer = asyncio.Event()

    async def _answer(self, frame: bytes) -> bytes | None:
        await self.may_answer.wait()
        return echo(frame)


def tables_of(version: int = 1, **members: tuple[str, ...]) -> NameTables:
    """Name tables of virtual clusters without links; the members by virtual cluster."""
    image = build_image(
        VirtualCluster(name=name, users=frozenset(users)) for name, users in members.items()
    )
    return NameTables(
        version=version,
        offset=version,
        image=image,
        by_virtual_cluster={
            name: NameTable(
                virtual_cluster=name,
                version=version,
                links={},
                local_names={},
                topic_ids={},
                prefix=f"{name}:".encode(),
            )
            for name in members
        },
    )


@dataclass
class StandInTables:
    """The tables of now, which a test may change."""

    tables: NameTables = field(default_factory=tables_of)
    too_old: str | None = None


class Clock:
    """The machine's, and ahead of it by what a test says."""

    ahead = 0.0

    def __call__(self) -> float:
        return perf_counter() + self.ahead


@dataclass
class Running:
    """A gateway that runs, and what it said."""

    gateway: Gateway
    brokers: list[StandInBroker]
    tables: StandInTables
    told: list[str]
    log: list[bytes]
    clock: Clock
    clients: "list[Client]" = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.gateway.url.rpartition(":")[2])

    @property
    def refusals(self) -> list[dict[str, str | None]]:
        return [json.loads(line) for line in self.log]

    async def connect(self, port: int | None = None, **options: object) -> "Client":
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port or self.port, limit=1 << 20, **options
        )
        self.clients.append(Client(reader, writer))
        return self.clients[-1]

    async def refused(self, *frames: bytes, port: int | None = None) -> dict[str, str | None]:
        """What the log says of a client whose connection is closed for these frames."""
        before = len(self.log)
        client = await self.connect(port)
        client.send(*frames)
        assert await client.rest() == b""
        (refusal,) = self.refusals[before:]
        return refusal

    async def until_forwarded(self, count: int) -> None:
        await eventually_async(
            lambda: self.gateway.counts.requests.get(FORWARDED, 0),
            lambda forwarded: forwarded >= count,
            what=f"{count} requests are forwarded",
        )

    async def until_closed(self, count: int = 0) -> None:
        await eventually_async(
            lambda: len(self.gateway.connections),
            lambda left: left <= count,
            what=f"all but {count} connections are closed",
        )


@dataclass
class Client:
    """A connection to the gateway."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def receive(self) -> bytes:
        async with asyncio.timeout(20):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def ask(self, key: int, number: int, body: bytes = b"", client_id: str = "test") -> bytes:
        self.send(request(key, number, body, client_id))
        return await self.receive()

    async def rest(self) -> bytes:
        """What comes up to the end of the connection."""
        async with asyncio.timeout(20):
            try:
                return await self.reader.read(-1)
            except ConnectionResetError:
                return b""

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def running(
    *brokers: StandInBroker,
    sasl: bool = False,
    tables: StandInTables | None = None,
    certificate: tuple[Path, Path] | None = None,
    upstream_tls: ssl.SSLContext | None = None,
    entrances: tuple[Entrance, ...] | None = None,
    load_balancers: tuple[str, ...] = (),
    limits: GatewayLimits | None = None,
    client_ca: Path | None = None,
    credentials: CredentialsFile | None = None,
) -> AsyncIterator[Running]:
    """A gateway before brokers, which have the ids 0, 1, and so on."""
    told: list[str] = []
    log: list[bytes] = []
    for broker in brokers:
        await broker.start()
    tables = tables or StandInTables()
    clock = Clock()
    gateway = Gateway(
        GatewayOptions(
            entrances=entrances
            or (Entrance(host="127.0.0.1", port=0, advertised_host="127.0.0.1"),),
            certificate=certificate[0] if certificate else None,
            key=certificate[1] if certificate else None,
            client_ca=client_ca,
            limits=limits or GatewayLimits(),
            load_balancers=load_balancers,
        ),
        BrokersBehind(
            bootstrap=(brokers[0].address,),
            by_node={node: broker.address for node, broker in enumerate(brokers)},
            sasl=sasl,
            tls=upstream_tls,
        ),
        tables,
        StandInRewriter,
        tell=told.append,
        write=log.append,
        credentials=credentials,
        clock=clock,
    )
    StandInRewriter.tables = []
    await gateway.start()
    run = Running(gateway, list(brokers), tables, told, log, clock)
    try:
        yield run
    finally:
        for client in run.clients:
            client.writer.transport.abort()
        for broker in brokers:
            await broker.die()
        await gateway.stop()
        await asyncio.sleep(0.01)
