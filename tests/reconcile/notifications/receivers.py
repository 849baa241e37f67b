"""Receivers of notifications on this machine: real HTTP servers, some of which misbehave."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from msgspec.structs import replace
from patience import eventually
from reconcile.local_http import local_http

from kgitops.reconcile.events import EventKind, ReconcileEvent

PENDING = ReconcileEvent(
    kind=EventKind.PENDING,
    at="2026-11-24T10:00:00Z",
    project="payments",
    cluster="prod",
    sentence='a plan with 2 deletions waits; "apply" it with its digest <!channel>\nor not',
    revision="a" * 40,
    plan_digest="sha256:" + "1" * 64,
    actions={"delete": 2},
    levels={"data-loss": 2},
    addresses=("topic/orders",),
)


def event(kind: EventKind = EventKind.PENDING, **changes: object) -> ReconcileEvent:
    return replace(PENDING, kind=kind, **changes)


class Receiver:
    """What a server was sent, and where it is."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.root = ""

    @property
    def url(self) -> str:
        return f"{self.root}/hooks/secret-path?key=secret-key"

    def wait_for(self, count: int) -> None:
        eventually(
            lambda: [*self.bodies],
            lambda bodies: len(bodies) >= count,
            what=f"{count} notifications arrive",
        )


@contextmanager
def receiver(
    *statuses: int, headers: dict[str, str] | None = None, certificate: Path | None = None
) -> Iterator[Receiver]:
    """A server that keeps what it is sent, and answers with each status in turn, then 200."""
    left, arriving, told = list(statuses), threading.Lock(), Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = left.pop(0) if left else 200
            with arriving:
                told.paths.append(self.path)
                told.headers.append(dict(self.headers))
                told.bodies.append(body)
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()

    with local_http(Handler, certificate) as server:
        scheme = "http" if certificate is None else "https"
        told.root = f"{scheme}://127.0.0.1:{server.server_port}"
        yield told


@contextmanager
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hooks/secret-path"


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends one byte of its answer from time to time, and no end."""
    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            connection, _ = server.accept()
            with connection:
                while not stopped.wait(0.1):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/hooks/secret-path"
        finally:
            stopped.set()
            thread.join()
