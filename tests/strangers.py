"""A Kafka of another program on the sandbox's first port, which counts who comes."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgitops.sandbox.layout import free_ports
from kgitops.testing import cluster

FIRST_PORT = 19_092


class Stranger:
    """Relays connections to an embedded cluster, as a port that Docker publishes does."""

    def __init__(self, listener: socket.socket, servers: str) -> None:
        self._listener = listener
        host, _, port = servers.partition(",")[0].rpartition(":")
        self._behind = host, int(port)
        self.port: int = listener.getsockname()[1]
        self.servers = f"127.0.0.1:{self.port}"
        self.connections = 0
        self._ends = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Accept nothing more: the thread is woken by one more connection, which does not count."""
        self._ends = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            if self._ends:
                client.close()
                return
            self.connections += 1
            try:
                broker = socket.create_connection(self._behind)
            except OSError:
                client.close()
                continue
            for source, target in ((client, broker), (broker, client)):
                threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        end.close()


@contextmanager
def stranger(port: int) -> Iterator[Stranger]:
    """A Kafka that is not the sandbox, on this port."""
    with cluster(brokers=3) as kafka, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        found = Stranger(listener, kafka.bootstrap_servers)
        try:
            yield found
        finally:
            found.end()


@contextmanager
def stranger_on_the_first_port(state: Path) -> Iterator[Stranger]:
    """One on 19092, or on the port that the sandbox of this state folder had before."""
    (port,) = free_ports(1, [FIRST_PORT])
    if port != FIRST_PORT:
        ports = state / "kgitops" / "sandbox.ports"
        ports.parent.mkdir(parents=True)
        ports.write_text(json.dumps(list(range(port, port + 6))))
    with stranger(port) as found:
        yield found
