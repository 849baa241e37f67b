"""The headers of requests and responses, by version."""

from itertools import product

import pytest

from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.errors import MalformedError
from kgitops.wire.frames import (
    SIZE_BYTES,
    UnsupportedVersionError,
    read_message,
    read_request,
    request_frame,
    response_frame,
)


def test_headers_are_read_as_they_were_written() -> None:
    """Of each API in each version, with a client id and without one."""
    each = [(api, version) for api in apis().values() for version in api.readable]
    for (api, version), client_id in product(each, ("someone", "", None)):
        message = messages.message_class(api.request)()
        frame = request_frame(api, version, 7, client_id, message)
        assert int.from_bytes(frame[:SIZE_BYTES], "big") == len(frame) - SIZE_BYTES
        read = read_request(frame[SIZE_BYTES:])
        assert (read.api, read.version, read.correlation_id) == (api, version, 7)
        assert read.client_id == client_id


def test_api_versions_has_a_header_that_everyone_can_read() -> None:
    """KIP-511: the answer to ApiVersions has no tags in its header, whatever its version."""
    by_name = {apis()[key].name: apis()[key] for key in keys().values()}
    assert response_frame(by_name["ApiVersions"], 4, 1, b"x")[4:] == b"\x00\x00\x00\x01x"
    assert response_frame(by_name["CreateTopics"], 7, 1, b"x")[4:] == b"\x00\x00\x00\x01\x00x"
    assert response_frame(by_name["CreateTopics"], 4, 1, b"x")[4:] == b"\x00\x00\x00\x01x"


@pytest.mark.parametrize(("key", "version"), [(18, 99), (18, -1), (19, 8), (999, 0), (-5, 0)])
def test_a_request_that_is_not_known_is_told(key: int, version: int) -> None:
    """With its key, version and correlation id, since ApiVersions is answered all the same."""
    head = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    with pytest.raises(UnsupportedVersionError) as raised:
        read_request(head + b"\x00\x00\x00\x09rest")
    assert (raised.value.key, raised.value.version) == (key, version)
    assert raised.value.correlation_id == 9


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x12\x00\x03\x00\x00\x00", b"\x00\x12\x00\x03" * 2 + b"\x7f\xff"]
)
def test_a_header_that_ends_early_is_malformed(data: bytes) -> None:
    """A frame needs all of it."""
    with pytest.raises(MalformedError):
        read_request(data)


def test_unstable_versions_are_not_announced() -> None:
    """Kafka 4.3 marks version 6 of InitProducerId so."""
    assert [api.name for api in apis().values() if api.versions.stop < api.readable.stop] == [
        "InitProducerId"
    ]


def test_bytes_after_a_request_are_left_alone() -> None:
    """As librdkafka 2.16 has them in Metadata, where it asks for all topics."""
    head = bytes.fromhex("0003 000d 00000003 0007") + b"rdkafka" + b"\0"
    frame = read_request(head + bytes.fromhex("00 00 00 00 01 00 00"))
    request = read_message(frame)
    assert (request.topics, request.allow_auto_topic_creation) == (None, False)
