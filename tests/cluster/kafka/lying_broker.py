"""A fake broker for odd answers: it passes requests to a served cluster, and changes responses."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from cluster.kafka.fakes import frame_of, serving

from kgitops.testing import cluster
from kgitops.wire import messages
from kgitops.wire.codec import read, write
from kgitops.wire.frames import read_request, response_frame, response_tags
from kgitops.wire.messages import Message

Change = Callable[[Message], object]
"""Changes a response in place; the name of its API decides which are meant."""


@dataclass
class LyingBroker:
    """One broker whose responses of some APIs are changed, or cut off in the middle."""

    to: str
    changes: dict[str, Change] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """APIs whose response ends after half of its bytes, and the connection with it."""
    seen: list[str] = field(default_factory=list)
    server: str = ""

    def handle(self, client: socket.socket) -> None:
        host, _, port = self.to.rpartition(":")
        with socket.create_connection((host, int(port))) as broker:
            while frame := frame_of(client):
                request = read_request(frame[4:])
                name = request.api.name
                self.seen.append(name)
                broker.sendall(frame)
                answer = frame_of(broker)
                if not answer:
                    return
                if name in self.cut:
                    client.sendall(answer[: len(answer) // 2])
                    return
                if name in ("Metadata", "DescribeCluster") or name in self.changes:
                    kind = messages.message_class(request.api.response)
                    at = 8 + response_tags(request.api, request.version)
                    message = read(kind, request.version, answer[at:])
                    self._point_here(message)
                    self.changes.get(name, lambda _: None)(message)
                    answer = response_frame(
                        request.api,
                        request.version,
                        request.correlation_id,
                        write(message, request.version),
                    )
                client.sendall(answer)

    def _point_here(self, message: Message) -> None:
        """Advertise this fake in the broker's place."""
        host, _, port = self.server.rpartition(":")
        for broker in getattr(message, "brokers", ()):
            broker.host, broker.port = host, int(port)


@contextmanager
def lying_broker(**given: object) -> Iterator[LyingBroker]:
    """A fake in front of a cluster of one broker."""
    with cluster(brokers=1) as kafka:
        made = LyingBroker(kafka.bootstrap_servers, **given)  # type: ignore[arg-type]
        with serving(made.handle) as server:
            made.server = server
            yield made


def advertise(*addresses: tuple[int, str, int]) -> Change:
    """Let Metadata name these brokers (id, host, port) and no other."""

    def change(message: Message) -> None:
        kind = type(message.brokers[0])
        message.brokers = [kind(node_id=id_, host=host, port=port) for id_, host, port in addresses]

    return change


def advertise_too(addresses: Sequence[tuple[int, str, int]]) -> Change:
    """Let Metadata name these brokers after its own."""

    def change(message: Message) -> None:
        kind = type(message.brokers[0])
        message.brokers = [
            *message.brokers,
            *(kind(node_id=id_, host=host, port=port) for id_, host, port in addresses),
        ]

    return change
