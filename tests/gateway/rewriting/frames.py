"""Requests and responses as frames, and the tables that they are changed by."""

from collections.abc import Mapping

from msgspec import Struct

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.exchange import (
    Exchange,
    Forward,
    LocalAnswer,
    RewriteState,
    read_header,
)
from kgitops.gateway.rewriting.requests import rewrite_request
from kgitops.gateway.rewriting.responses import rewrite_response
from kgitops.gateway.rewriting.topic_ids import TopicIds
from kgitops.wire.apis import Api, apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.frames import read_message, read_request, request_frame, response_tags
from kgitops.wire.messages import Message, message_class

ORDERS, STREAM, PERF = b"\x01" * 16, b"\x02" * 16, b"\x03" * 16
LINKS = {
    b"Orders": (b"5f1c.Orders", ORDERS),
    b"stream": (b"shared.stream", STREAM),
    b"perf": (b"5f1c.perf", PERF),
}


def table_of(
    links: Mapping[bytes, tuple[bytes, bytes]] = LINKS, version: int = 1, name: str = "emea.sales"
) -> NameTable:
    """The table of a virtual cluster with these links: local names to physical ones and ids."""
    local: dict[bytes, list[bytes]] = {}
    for link, (physical, _) in sorted(links.items()):
        local.setdefault(physical, []).append(link)
    return NameTable(
        virtual_cluster=name,
        version=version,
        links={link: physical for link, (physical, _) in links.items()},
        local_names={physical: tuple(names) for physical, names in local.items()},
        topic_ids={topic_id: physical for physical, topic_id in links.values()},
        prefix=name.encode() + b":",
    )


class PortsByNode:
    """Addresses of a gateway with a port a broker."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[bytes, int]] = {}

    def advertise(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
        self.seen[node_id] = (host, port)
        return b"gateway.example", 9100 + node_id


class Rewriter:
    """One client's connection, with frames for values."""

    def __init__(self, table: NameTable | None) -> None:
        self.table = table
        self.connection = RewriteState(TopicIds())
        self.connection.logged_in = True
        self.addresses = PortsByNode()

    def request(self, message: Struct, version: int) -> tuple[Message, Exchange | None]:
        """The request that reaches the broker, and what waits for its response."""
        api = api_of(message)
        found = self.send(message, version)
        assert isinstance(found, Forward)
        data = b"".join(found.chunks)
        frame = read_request(data)
        assert (frame.api, frame.version, frame.client_id) == (api, version, "client")
        return read_message(frame), found.exchange

    def send(self, message: Struct, version: int) -> Forward | LocalAnswer:
        """What becomes of a request."""
        frame = request_frame(api_of(message), version, 77, "client", message)[4:]
        return rewrite_request(bytearray(frame), read_header(frame), self.table, self.connection)

    def refusal(self, message: Struct, version: int) -> Message:
        """The gateway's own answer."""
        found = self.send(message, version)
        assert isinstance(found, LocalAnswer)
        api = api_of(message)
        return read(
            message_class(api.response), version, found.body, 4 + response_tags(api, version)
        )

    def response(self, message: Struct, exchange: Exchange | None) -> Message:
        """The response that reaches the client."""
        assert exchange is not None
        api, version = exchange.api, exchange.version
        tags = bytes(response_tags(api, version))
        frame = exchange.correlation_id.to_bytes(4, "big") + tags + bytes(write(message, version))
        chunks = rewrite_response(bytearray(frame), exchange, self.connection, self.addresses)
        return read(message_class(api.response), version, b"".join(chunks), 4 + len(tags))


def api_of(message: Struct) -> Api:
    """The API of a request."""
    return apis()[keys()[type(message).__name__.removesuffix("Request")]]
