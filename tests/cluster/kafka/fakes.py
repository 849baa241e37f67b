"""Fakes for what a real broker won't do when asked: keep silent, be old, hang up in the middle."""

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

API_VERSIONS, METADATA, CREATE_TOPICS, DESCRIBE_QUORUM = 18, 3, 19, 55


@contextmanager
def silent_port() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def serving(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """Every connection to this port is handled in a thread of its own."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            # Else each of several answers waits 40 ms for the client's acknowledgement.
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError):
                handle(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def answering(text: bytes) -> Iterator[str]:
    """Answers whatever it is told with the same bytes."""

    def handle(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(text)
        connection.recv(4096)  # until the other side hangs up

    with serving(handle) as server:
        yield server


def frame_of(connection: socket.socket) -> bytes:
    """One request or response, its length in front; empty at the end."""
    head = _exactly(connection, 4)
    return head + _exactly(connection, struct.unpack(">i", head)[0]) if head else b""


def api_of(frame: bytes) -> int:
    """The key of a request's API."""
    return int(struct.unpack(">h", frame[4:6])[0])


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            return b""
        data += more
    return data


@contextmanager
def old_broker() -> Iterator[str]:
    """Knows ApiVersions up to 2 and Metadata 1, as Kafka 0.10 did."""
    place: list[str] = []

    def handle(connection: socket.socket) -> None:
        while frame := frame_of(connection):
            api, version, number = struct.unpack(">hhi", frame[4:12])
            if api == API_VERSIONS:
                known = ((API_VERSIONS, 0, 2), (METADATA, 0, 1))
                error = 35 if version > 2 else 0
                body = struct.pack(">hi", error, len(known))
                body += b"".join(struct.pack(">hhh", *each) for each in known)
                body += struct.pack(">i", 0) if 0 < version <= 2 else b""
            else:
                host, _, port = place[0].rpartition(":")
                body = struct.pack(">iih", 1, 1, len(host)) + host.encode()
                body += struct.pack(">ihii", int(port), -1, 1, 0)
            connection.sendall(struct.pack(">ii", 4 + len(body), number) + body)

    with serving(handle) as server:
        place.append(server)
        yield server


@dataclass
class Proxy:
    """Passes requests on to a real broker, and drops or holds what a test wants lost."""

    to: str
    cut_before: set[int] = field(default_factory=set)
    """APIs whose request the broker never sees; the connection ends."""
    cut_after: set[int] = field(default_factory=set)
    """APIs whose request the broker carries out; the connection ends instead of the answer."""
    hold: set[int] = field(default_factory=set)
    """APIs that are never answered."""
    times: int = 1 << 30
    """After that many, everything is passed on."""
    seen: list[int] = field(default_factory=list)
    server: str = ""

    def handle(self, client: socket.socket) -> None:
        host, _, port = self.to.rpartition(":")
        with socket.create_connection((host, int(port))) as broker:
            while frame := frame_of(client):
                api = api_of(frame)
                self.seen.append(api)
                if self._strikes(api, self.cut_before):
                    return
                held = self._strikes(api, self.hold)
                lost = self._strikes(api, self.cut_after)
                if held:
                    continue
                broker.sendall(frame)
                answer = frame_of(broker)
                if lost or not answer:
                    return
                client.sendall(answer)

    def _strikes(self, api: int, apis: set[int]) -> bool:
        if api not in apis or self.times <= 0:
            return False
        self.times -= 1
        return True


@contextmanager
def proxy(to: str, **faults: object) -> Iterator[Proxy]:
    """A proxy in front of the broker at ``to``."""
    made = Proxy(to, **faults)  # type: ignore[arg-type]
    with serving(made.handle) as server:
        made.server = server
        yield made
