"""A request that was changed, and what is remembered of it until its response comes."""

from typing import Protocol

from msgspec import Struct, field

from kgitops.gateway.naming.name_table import NameTable
from kgitops.gateway.rewriting.subscriptions import AcceptedSubscription, Subscriptions
from kgitops.gateway.rewriting.topic_ids import TopicIdMasks, TopicIds
from kgitops.gateway.sockets.memory import KeptMemory
from kgitops.wire.apis import Api, apis
from kgitops.wire.codec import write
from kgitops.wire.frames import header_version, response_tags
from kgitops.wire.messages import Message
from kgitops.wire.splicing import Chunks
from kgitops.wire.varints import skip_tags

API_VERSIONS = 18
MOST_AT_ONCE = 2_000
"""Elements of arrays that are looked at in one turn of the event loop: about two milliseconds."""
MOST_BYTES_AT_ONCE = 8 * 1024
"""Of a frame without records, whose elements may have two bytes each."""
MOST_IN_REQUEST = 100_000
"""Elements of a client's request; to free more at once takes longer than a few milliseconds."""
_PIECE = 256


class RefusedFrameError(Exception):
    """A frame after which the connection has to be closed.

    ``reason`` is a word for metrics (``malformed``, ``api``, ``version``, ``answer``), ``sentence``
    is for the log.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence


class RequestHeader(Struct, frozen=True):
    """The header of a request; the message begins at ``body``."""

    key: int
    version: int
    correlation_id: int
    client_id: bytes | None
    body: int
    api: Api


class Exchange(Struct):
    """One request that waits for its response.

    ``table`` has the names that were used for the request: its response is changed by the same
    ones. ``early`` tells that it came before the login, ``listing`` that all topics were asked for,
    ``unknown`` that a topic was named that the virtual cluster does not have. ``asked``
    has the local names that the request uses for a topic with several. ``protocol_type`` is that of
    the group of a JoinGroup or SyncGroup. ``pattern`` is that of a ListTransactions, by local ids.
    ``accepted`` is what the connection remembers if the broker reports no error.
    """

    key: int
    version: int
    correlation_id: int
    api: Api
    table: NameTable | None = None
    early: bool = False
    unknown: bool = False
    listing: bool = False
    asked: dict[bytes, list[bytes]] = field(default_factory=dict)
    protocol_type: bytes | None = None
    pattern: str | None = None
    accepted: AcceptedSubscription | None = None


class Forward(Struct):
    """A request for the broker, in parts; without ``exchange`` no response comes (acks=0)."""

    chunks: Chunks
    exchange: Exchange | None


class LocalAnswer(Struct):
    """A response by the gateway itself: a frame without its length."""

    body: bytes


def own_answer(header: RequestHeader, response: Message) -> LocalAnswer:
    """The gateway's own answer to a request, in the request's version."""
    head = header.correlation_id.to_bytes(4, "big", signed=True)
    tags = bytes(response_tags(header.api, header.version))
    return LocalAnswer(head + tags + bytes(write(response, header.version)))


def few(chunks: Chunks) -> Chunks:
    """These chunks, or one of them all if they take more memory than their bytes."""
    return chunks if sum(map(len, chunks)) >= _PIECE * len(chunks) else [b"".join(chunks)]


class Addresses(Protocol):
    """The addresses of brokers, as clients shall dial them."""

    def advertise(self, node_id: int, host: bytes, port: int) -> tuple[bytes, int]:
        """The address for clients of the broker that has this one, which is remembered."""
        ...


class RewriteState:
    """The state of one connection that its names need; ``topic_ids`` are shared by all connections.

    ``logged_in`` is set from outside: before it, ApiVersions must not announce more than virtual
    clusters have. ``preferred`` has the name last used of a topic with several. ``fetched`` is the
    table of the fetch session, ``share_fetched`` that of the share session.
    ``protocol_types`` are those of groups other than consumers'.
    """

    def __init__(self, topic_ids: TopicIds, memory: KeptMemory | None = None) -> None:
        self.logged_in = False
        self.topic_ids = topic_ids
        self.masks = TopicIdMasks()
        self.preferred: dict[bytes, bytes] = {}
        self.fetched: NameTable | None = None
        self.share_fetched: NameTable | None = None
        self.protocol_types: dict[bytes, bytes] = {}
        self.subscriptions = Subscriptions(memory)


def read_header(frame: bytes | bytearray) -> RequestHeader:
    """Read the header of a request.

    ApiVersions is read in any version: a client learns from the answer which there are (KIP-511).

    Raises:
        RefusedFrameError: it has none, or its API or version is not known.
    """
    if len(frame) < 10:
        raise RefusedFrameError("malformed", f"a request of {len(frame)} bytes has no header")
    key = int.from_bytes(frame[:2], "big", signed=True)
    version = int.from_bytes(frame[2:4], "big", signed=True)
    api = apis().get(key)
    if api is None:
        raise RefusedFrameError("api", f"the API with key {key} is not known")
    if version not in api.versions and key != API_VERSIONS:
        raise RefusedFrameError("version", f"{api.name} has no version {version} here")
    size = int.from_bytes(frame[8:10], "big", signed=True)
    body = 10 + max(size, 0)
    client_id = bytes(frame[10:body]) if size >= 0 else None
    if header_version(api, version) == 2:
        try:
            body = skip_tags(frame, body)
        except (IndexError, ValueError):
            body = len(frame) + 1
    if body > len(frame) or size < -1:
        raise RefusedFrameError("malformed", f"a header of {api.name} ends early")
    return RequestHeader(
        key=key,
        version=version,
        correlation_id=int.from_bytes(frame[4:8], "big", signed=True),
        client_id=client_id,
        body=body,
        api=api,
    )
