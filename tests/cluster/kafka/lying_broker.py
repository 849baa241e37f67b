"""A fake broker for odd answers: it passes requests to a served cluster, and changes responses."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from cluster.kafka.fakes import frame_of, serving
from msgspec.structs import replace

from kgitops.testing import cluster
from kgitops.wire import messages
from kgitops.wire.codec import read
from kgitops.wire.definitions import FieldDefinition, definition
from kgitops.wire.frames import read_request, response_frame, response_tags
from kgitops.wire.messages import Message
from kgitops.wire.writing import Writer, make_writer

Change = Callable[[Message], object]
"""Changes a response in place; the name of its API decides which are meant."""


@dataclass
class LyingBroker:
    """One broker whose responses of some APIs are changed, or cut off in the middle."""

    to: str
    changes: dict[str, Change] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    """APIs whose response ends after half of its bytes, and the connection with it."""
    made: frozenset[str] = frozenset()
    """APIs that the broker behind does not have; their responses are empty until changed."""
    seen: list[str] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    """The latest version of each API that was asked."""
    server: str = ""

    def handle(self, client: socket.socket) -> None:
        host, _, port = self.to.rpartition(":")
        with socket.create_connection((host, int(port))) as broker:
            while frame := frame_of(client):
                request = read_request(frame[4:])
                name = request.api.name
                self.seen.append(name)
                self.versions[name] = request.version
                kind = messages.message_class(request.api.response)
                if name in self.made:
                    answer, message = b"", kind()
                else:
                    broker.sendall(frame)
                    answer = frame_of(broker)
                    if not answer:
                        return
                    at = 8 + response_tags(request.api, request.version)
                    message = read(kind, request.version, answer[at:])
                if name in ("Metadata", "DescribeCluster", *self.made, *self.changes):
                    self._point_here(message)
                    self.changes.get(name, lambda _: None)(message)
                    answer = response_frame(
                        request.api,
                        request.version,
                        request.correlation_id,
                        _lax_writer(request.api.response, request.version)(message),
                    )
                if name in self.cut:
                    client.sendall(answer[: len(answer) // 2])
                    return
                client.sendall(answer)

    def _point_here(self, message: Message) -> None:
        """Advertise this fake in the broker's place."""
        host, _, port = self.server.rpartition(":")
        for broker in getattr(message, "brokers", ()):
            broker.host, broker.port = host, int(port)


@cache
def _lax_writer(name: str, version: int) -> Writer:
    """A writer to which every text and every list may be null."""
    message = definition(name)
    structs = {part: _lax(fields) for part, fields in message.structs.items()}
    return make_writer(replace(message, fields=_lax(message.fields), structs=structs), version)


def _lax(fields: Sequence[FieldDefinition]) -> tuple[FieldDefinition, ...]:
    return tuple(
        replace(
            each,
            nullable="0+" if each.element or each.type in _SIZED else each.nullable,
            fields=_lax(each.fields),
        )
        for each in fields
    )


_SIZED = ("string", "bytes", "records")


@contextmanager
def lying_before(to: str, **given: object) -> Iterator[LyingBroker]:
    """A fake in front of the broker at ``to``."""
    made = LyingBroker(to, **given)  # type: ignore[arg-type]
    with serving(made.handle) as server:
        made.server = server
        yield made


@contextmanager
def lying_broker(**given: object) -> Iterator[LyingBroker]:
    """A fake in front of a cluster of one broker."""
    with cluster(brokers=1) as kafka, lying_before(kafka.bootstrap_servers, **given) as made:
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
