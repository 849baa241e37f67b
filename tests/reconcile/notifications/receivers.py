"""Receivers of notifications on this machine: real HTTP servers, some of which misbehave."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec.structs import replace
from patience import eventually

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
    """A server that keeps what it is sent, and answers with each status in turn, then 200."""

    def __init__(
        self,
        *statuses: int,
        headers: dict[str, str] | None = None,
        certificate: Path | None = None,
    ) -> None:
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._arriving = threading.Lock()
        left = list(statuses)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = left.pop(0) if left else 200
                with receiver._arriving:
                    receiver.paths.append(self.path)
                    receiver.headers.append(dict(self.headers))
                    receiver.bodies.append(body)
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.root = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.root}/hooks/secret-path?key=secret-key"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def wait_for(self, count: int) -> None:
        eventually(
            lambda: [*self.bodies],
            lambda bodies: len(bodies) >= count,
            what=f"{count} notifications arrive",
        )

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def receiver(
    *statuses: int, headers: dict[str, str] | None = None, certificate: Path | None = None
) -> Iterator[Receiver]:
    opened = Receiver(*statuses, headers=headers, certificate=certificate)
    try:
        yield opened
    finally:
        opened.stop()


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
