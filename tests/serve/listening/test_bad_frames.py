"""Bad input costs the connection that it comes by, with one line in the log, and nothing else."""

import logging
import random
import select
import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest
from patience import eventually
from serve.raw_client import RawClient, raw_client
from serve.served import ServedCluster, client_of, served
from serve.topic_requests import created, creating

from kgitops.serve.nodes import FIRST_CONTROLLER
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages
from kgitops.wire.apis import Api, apis, keys
from kgitops.wire.frames import request_frame


@pytest.fixture(scope="module")
def server() -> Iterator[KafkaServer]:
    """For tests that close few connections: of many, a server logs only the first."""
    with served(brokers=1) as started:
        yield started.server


@pytest.fixture
def own_server() -> Iterator[KafkaServer]:
    with served(brokers=1) as started:
        yield started.server


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 7, -1)


METADATA = keys()["Metadata"]
BAD_FRAMES = {
    "negative size": (b"\xff\xff\xff\xff", "a request of -1 bytes"),
    "no size": (b"\0\0\0\0", "a request of 0 bytes"),
    "huge size": (b"\x7f\xff\xff\xff", "a request of 2147483647 bytes"),
    "short": (sized(b"\0\x03"), "a request of 2 bytes has no header"),
    "truncated header": (sized(header(METADATA, 1)[:-2] + b"\0\x09x"), "it ends in ClientId"),
    "unknown API": (sized(header(999, 0)), "a request with key 999 in version 0 is not known"),
    "unknown version": (sized(header(METADATA, 99)), "key 3 in version 99 is not known"),
    "array of 2^31": (sized(header(METADATA, 1) + b"\x7f\xff\xff\xff"), "MetadataRequest"),
    "string beyond": (sized(header(METADATA, 1) + b"\0\0\0\x01\x7f\xff"), "MetadataRequest"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "it sent HTTP"),
}


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@contextmanager
def one_line(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The lines that the listeners log; there must be one."""
    caplog.clear()
    lines: list[str] = []
    with caplog.at_level(logging.INFO):
        yield lines
        # A client sees its end before the server has logged it.
        eventually(lambda: [*caplog.records], what="a line is logged")
    lines += [record.getMessage() for record in caplog.records]
    assert len(lines) == 1, lines


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_bad_frame(server: KafkaServer, caplog: pytest.LogCaptureFixture, name: str) -> None:
    data, reason = BAD_FRAMES[name]
    with (
        raw_client(server.endpoints[0]) as good,
        raw_client(server.endpoints[0]) as bad,
        one_line(caplog) as lines,
    ):
        bad.socket.sendall(data)
        assert is_closed(bad.socket)
        assert good.ask("Metadata", 12).brokers
    assert lines[0].startswith("a connection from 127.0.0.1 is closed: ")
    assert reason in lines[0]


def test_bytes_after_a_message_count_for_nothing(server: KafkaServer) -> None:
    """As at Kafka's brokers; librdkafka asks so for the metadata of all topics."""
    with raw_client(server.endpoints[0]) as client:
        client.socket.sendall(sized(header(METADATA, 1) + b"\0\0\0\0abc"))
        assert client.receive_frame()[:4] == (7).to_bytes(4, "big")


def test_tls_to_a_plain_listener(server: KafkaServer, caplog: pytest.LogCaptureFixture) -> None:
    context = ssl.create_default_context()
    with (
        raw_client(server.endpoints[0]) as bad,
        one_line(caplog) as lines,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(bad.socket, server_hostname="localhost")
    assert "it spoke TLS, this listener does not" in lines[0]


def test_byte_by_byte(server: KafkaServer) -> None:
    with raw_client(server.endpoints[0]) as client:
        frame = request_frame(apis()[METADATA], 12, 1, "slow", messages.MetadataRequest())
        for byte in frame:
            client.socket.sendall(bytes([byte]))
        assert client.receive_frame()[:4] == (1).to_bytes(4, "big")


def test_pipelined_requests_are_answered_in_order(server: KafkaServer) -> None:
    """Small and large ones, and ones that write, of which each takes another thread."""
    kinds = [
        ("Metadata", 12, messages.MetadataRequest(topics=None)),
        ("CreateTopics", 7, creating("x", validate_only=True)),
        (
            "ApiVersions",
            3,
            messages.ApiVersionsRequest(client_software_name="a", client_software_version="1"),
        ),
        (
            "Metadata",
            4,
            messages.MetadataRequest(
                topics=[messages.MetadataRequest.MetadataRequestTopic(name="y" * 9)] * 600,
                allow_auto_topic_creation=False,
            ),
        ),
    ]
    with raw_client(server.endpoints[0]) as client:
        frames = [
            request_frame(apis()[keys()[api]], version, number, None, message)
            for number, (api, version, message) in enumerate(kinds * 50)
        ]
        client.socket.sendall(b"".join(frames))
        answers = [int.from_bytes(client.receive_frame()[:4], "big") for _ in frames]
    assert answers == list(range(200))


def test_a_client_that_vanishes_in_a_request(
    server: KafkaServer, caplog: pytest.LogCaptureFixture
) -> None:
    """One line; none for a client that goes between two requests, or while it is waited for."""
    whole = request_frame(apis()[METADATA], 12, 1, "gone", messages.MetadataRequest())
    with raw_client(server.endpoints[0]) as good:
        caplog.clear()
        with caplog.at_level(logging.INFO, "kgitops.serve"):
            for data in (whole, whole[:-3]):
                with raw_client(server.endpoints[0]) as gone:
                    gone.socket.sendall(data)
            for _ in range(5000):
                if caplog.records:
                    break
                assert good.ask("Metadata", 12).brokers
    assert [record.getMessage() for record in caplog.records] == [
        "a connection from 127.0.0.1 is closed: the client disconnected in the middle of a request"
    ]


def test_half_open_connections_end(caplog: pytest.LogCaptureFixture) -> None:
    """Those that say nothing, or never end what they say, or never read."""
    with (
        served(brokers=1, static_configs={"connections.max.idle.ms": "150"}) as brokers,
        brokers.client() as silent,
        brokers.client() as unfinished,
    ):
        unfinished.socket.sendall(sized(header(METADATA, 1))[:-3])
        with caplog.at_level(logging.INFO, "kgitops.serve"):
            assert is_closed(silent.socket)
            assert is_closed(unfinished.socket)
    assert [record.getMessage() for record in caplog.records] == [
        "a connection from 127.0.0.1 is closed: it was idle for 0.15 s"
    ] * 2


def test_a_client_that_reads_no_answers_is_not_answered_without_end(server: KafkaServer) -> None:
    """Nor are more of its requests read: both sides stand still, and memory with them."""
    before = psutil.Process().memory_info().rss
    frame = request_frame(
        apis()[keys()["ApiVersions"]],
        3,
        1,
        None,
        messages.ApiVersionsRequest(client_software_name="a", client_software_version="1"),
    )
    with raw_client(server.endpoints[0]) as deaf:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.socket.settimeout(0.3)
        sent = 0
        with pytest.raises(TimeoutError):  # noqa: PT012 (one of them is not taken)
            while sent < 300_000_000:
                sent += deaf.socket.send(frame * 2000)
        with raw_client(server.endpoints[0]) as good:
            assert good.ask("Metadata", 12).brokers
    assert psutil.Process().memory_info().rss - before < 60_000_000
    _until_all_are_gone(server)


def test_500_slow_connections(own_server: KafkaServer) -> None:
    """Each announces 50 MB; memory is taken for what has come, not for what was announced."""
    before = psutil.Process().memory_info().rss
    with ExitStack() as stack:
        for _ in range(500):
            slow = stack.enter_context(raw_client(own_server.endpoints[0]))
            slow.socket.sendall((50_000_000).to_bytes(4, "big") + bytes(100))
        good = stack.enter_context(raw_client(own_server.endpoints[0]))
        assert good.ask("Metadata", 12).brokers
        assert psutil.Process().memory_info().rss - before < 20_000_000
    _until_all_are_gone(own_server)


def test_too_many_connections(caplog: pytest.LogCaptureFixture) -> None:
    """Of all hosts, and of one; a place that is left can be taken."""
    for key in ("max.connections", "max.connections.per.ip"):
        with (
            served(brokers=1, static_configs={key: "2"}) as brokers,
            brokers.client() as first,
            brokers.client() as second,
        ):
            assert first.ask("Metadata", 12).brokers
            assert second.ask("Metadata", 12).brokers
            with one_line(caplog) as lines, brokers.client() as third:
                assert is_closed(third.socket)
            assert f"2 connections already ({key})" in lines[0]
            second.close()
            _until_answered(brokers)


def test_clients_leave_brokers_room_to_forward() -> None:
    """The connections of brokers to controllers are counted on their own."""
    with client_of(brokers=1, static_configs={"max.connections": "1"}) as only:
        assert created(only, "x") == {"x": 0}


def test_too_many_bytes_wait(caplog: pytest.LogCaptureFixture) -> None:
    """Of all connections together: the one that sends more is closed."""
    with (
        served(brokers=1, static_configs={"queued.max.request.bytes": "100000"}) as brokers,
        brokers.client() as one,
        brokers.client() as other,
    ):
        one.socket.sendall((90_000).to_bytes(4, "big") + bytes(80_000))
        with one_line(caplog) as lines:
            other.socket.sendall((90_000).to_bytes(4, "big") + bytes(80_000))
            assert is_closed(_first_closed(one, other))
        assert "queued.max.request.bytes" in lines[0]


def fuzz(server: KafkaServer, count: int, seed: int) -> None:
    """Damaged requests of every API: each connection is answered or closed, the server lives."""
    chance = random.Random(seed)  # noqa: S311
    known = [api for api in apis().values() if api.versions]
    with ExitStack() as stack:
        client: RawClient | None = None
        for _ in range(count):
            if client is None:
                client = stack.enter_context(raw_client(server.endpoints[0]))
            client.socket.sendall(_damaged(chance, known))
            try:
                client.receive_frame()
            except ConnectionError:
                client.close()
                client = None
    with raw_client(server.endpoints[0]) as good:
        assert good.ask("Metadata", 12).brokers


def _damaged(chance: random.Random, known: Sequence[Api]) -> bytes:
    api = chance.choice([api for api in known if api.name not in _WAITS])
    version = chance.choice(api.versions)
    message = messages.message_class(api.request)()
    frame = bytearray(request_frame(api, version, 5, "fuzz", message))[4:]
    for _ in range(chance.randint(1, 4)):
        match chance.randint(0, 2):
            case 0:
                frame[chance.randrange(8, len(frame))] = chance.randrange(256)
            case 1:
                frame += chance.randbytes(chance.randint(1, 30))
            case 2 if len(frame) > 12:
                del frame[chance.randrange(10, len(frame)) :]
    return sized(bytes(frame))


_WAITS = {"Fetch", "JoinGroup", "SyncGroup", "Produce"}
"""They may be answered late, or not at all."""


def test_fuzz(caplog: pytest.LogCaptureFixture) -> None:
    """A few thousand frames, and at most twenty lines in ten seconds."""
    with served(brokers=1) as fresh, caplog.at_level(logging.INFO, "kgitops.serve"):
        fuzz(fresh.server, 2000, 1)
    lines = [record for record in caplog.records if "is closed" in record.getMessage()]
    # Twenty in ten seconds, and a slow machine takes longer.
    assert 0 < len(lines) <= 200
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.slow
def test_fuzz_long(own_server: KafkaServer) -> None:
    before = psutil.Process().memory_info().rss
    fuzz(own_server, 100_000, 2)
    assert psutil.Process().memory_info().rss - before < 100_000_000


def _until_answered(brokers: ServedCluster) -> None:
    def answered() -> bool:
        with brokers.client() as client, suppress(ConnectionError):
            return bool(client.ask("Metadata", 12).brokers)
        return False

    eventually(answered, what="the place is given back")


def _until_all_are_gone(server: KafkaServer) -> None:
    """Each that went in the middle of a request has its line by then, and no later test has it."""
    eventually(
        lambda: [
            one for one in server._listeners.open if one.connection.node.id < FIRST_CONTROLLER
        ],
        lambda left: not left,
        what="the connections are closed",
    )


def _first_closed(*clients: RawClient) -> socket.socket:
    ready, _, _ = select.select([client.socket for client in clients], [], [], 20)
    return ready[0]
