"""Requests on kafka-python's connections whose answers kafka-python does not decode.

Its decoder makes Python objects of everything, which is most of the cost of a read with large
answers; so the bytes go to ``decode`` as they arrive, and only its result is kept.
"""

import io
import struct
from collections.abc import Callable
from typing import Generic, TypeVar

from kafka.protocol.api_header import RequestHeader, ResponseHeader
from msgspec import Struct

from kgitops.cluster.kafka.transport.wire import Message

T = TypeVar("T")
_FRAME = struct.Struct(">i")


class Decoded(Struct, Generic[T], frozen=True):
    """The decoded value of an answer, and for how long the broker throttles this client."""

    value: T
    throttle_time_ms: int = 0


def decoded_value(answer: Decoded[T]) -> T:
    return answer.value


class DecodedRequest(Generic[T]):
    """A request of a flexible version: its body, and the decoder of the answer's body.

    It has exactly the attributes that kafka-python's connection needs of a request.
    """

    min_version = 0
    _min_version = None
    _max_version = None

    def __init__(
        self,
        name: str,
        key: int,
        version: int,
        body: bytes,
        decode: Callable[[bytes], T],
        *,
        begins_with_throttle: bool = True,
    ) -> None:
        self.name = name
        self.API_KEY = key
        self.API_VERSION = version
        self.max_version = version
        self.header: _Header | None = None
        self._body = body
        self._decode = decode
        self._begins_with_throttle = begins_with_throttle

    def with_header(self, correlation_id: int = 0, client_id: str = "kafka-python") -> None:
        """Set the header with the correlation id that the answer will have."""
        header = RequestHeader(
            request_api_key=self.API_KEY,
            request_api_version=self.API_VERSION,
            correlation_id=correlation_id,
            client_id=client_id,
        )
        self.header = _Header(correlation_id, header.encode(flexible=True), self)

    def encode(self, *, framed: bool = True, header: bool = True) -> bytes:
        """Return the bytes to send; kafka-python always asks for them with frame and header."""
        if self.header is None or not framed or not header:
            raise ValueError("a request is sent with its header")
        head = self.header.encoded
        return b"".join((_FRAME.pack(len(head) + len(self._body)), head, self._body))

    def expect_response(self) -> bool:
        """Return True: the broker answers it."""
        return True

    def parse_header(self, buffer: io.BytesIO) -> Message:
        """Read the header of the answer."""
        return ResponseHeader.decode(buffer, flexible=True)

    def decode(self, buffer: io.BytesIO) -> Decoded[T]:
        """Decode the rest of the answer.

        Raises:
            ValueError: no broker of Kafka gives it.
        """
        data = buffer.read()
        throttle_time_ms = _FRAME.unpack_from(data)[0] if self._begins_with_throttle else 0
        return Decoded(self._decode(data), throttle_time_ms)


class _Header(Struct, frozen=True):
    correlation_id: int
    encoded: bytes
    request: object

    def get_response_class(self) -> object:
        return self.request


def with_body(request: Message, version: int, decode: Callable[[bytes], T]) -> DecodedRequest[T]:
    """Wrap a kafka-python request so that ``decode`` reads its answer."""
    body = request.encode(version=version)
    return DecodedRequest(request.name, request.API_KEY, version, body, decode)
