"""Frames: a message with its header and its length, as connections carry it (KIP-482)."""

from msgspec import Struct

from kgitops.wire import messages
from kgitops.wire.apis import Api, apis
from kgitops.wire.codec import read_part, write
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import Message

SIZE_BYTES = 4


class RequestFrame(Struct, frozen=True):
    """A request as it came: its header, and where in the data its message begins."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    data: bytes
    """The frame without its length, header included."""
    body: int


class UnsupportedVersionError(MalformedError):
    """A request of a version, or with a key, that is not known.

    ``ApiVersions`` is to be answered all the same (KIP-511).
    """

    def __init__(self, key: int, version: int, correlation_id: int) -> None:
        super().__init__(f"a request with key {key} in version {version} is not known")
        self.key = key
        self.version = version
        self.correlation_id = correlation_id


def read_request(data: bytes) -> RequestFrame:
    """Read the header of a request.

    Raises:
        UnsupportedVersionError: its key or its version is not known.
        MalformedError: it has no header.
    """
    if len(data) < 8:
        raise MalformedError(f"a request of {len(data)} bytes has no header")
    key = int.from_bytes(data[:2], "big", signed=True)
    version = int.from_bytes(data[2:4], "big", signed=True)
    api = apis().get(key)
    if api is None or version not in api.readable:
        raise UnsupportedVersionError(key, version, int.from_bytes(data[4:8], "big", signed=True))
    header, body = read_part(messages.RequestHeader, header_version(api, version), data)
    return RequestFrame(
        api=api,
        version=version,
        correlation_id=header.correlation_id,
        client_id=header.client_id,
        data=data,
        body=body,
    )


def read_message(frame: RequestFrame) -> Message:
    """Read the message of a request.

    Bytes after it are left alone, as Kafka's brokers do: librdkafka 2.16 writes an empty array in
    the old way into Metadata 13, which makes it three bytes longer than it is.

    Raises:
        MalformedError: the bytes are something else.
    """
    kind = messages.message_class(frame.api.request)
    return read_part(kind, frame.version, frame.data, frame.body)[0]


def request_frame(
    api: Api, version: int, correlation_id: int, client_id: str | None, message: Struct
) -> bytes:
    """A request with its length and header."""
    header = messages.RequestHeader(
        request_api_key=api.key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    head = write(header, header_version(api, version))
    return with_size(head, write(message, version))


def response_frame(api: Api, version: int, correlation_id: int, body: bytes | bytearray) -> bytes:
    """A response with its length and header."""
    head = correlation_id.to_bytes(4, "big", signed=True)
    return with_size(head + bytes(response_tags(api, version)), body)


def header_version(api: Api, version: int) -> int:
    """The version of a request's header: the second one has tags."""
    return 2 if version in api.flexible else 1


def response_tags(api: Api, version: int) -> int:
    """The length of the tags in a response's header.

    ``ApiVersions`` never has any: its reader does not know yet what the server speaks (KIP-511).
    """
    return 1 if version in api.flexible and api.name != "ApiVersions" else 0


def with_size(*parts: bytes | bytearray) -> bytes:
    """The parts as one frame.

    Raises:
        OverflowError: they are longer than a frame can be.
    """
    size = sum(map(len, parts))
    return b"".join((size.to_bytes(SIZE_BYTES, "big", signed=True), *parts))
