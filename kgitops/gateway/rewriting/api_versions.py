"""ApiVersions: what the broker announces, cut to what the gateway understands."""

from collections.abc import Iterator

from kgitops.gateway.rewriting.apis import passed_on, used_in_virtual_clusters, versions_of
from kgitops.gateway.rewriting.exchange import API_VERSIONS, Exchange, LocalAnswer, RequestHeader
from kgitops.model.results import ErrorCode
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.messages import Message, message_class


def cut_api_versions(frame: bytes | bytearray, exchange: Exchange) -> bytes:
    """The response with those APIs and versions that clients may use.

    Raises:
        MalformedError: it is no such response.
    """
    data = bytes(frame)
    failed = data[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
    version = 0 if failed else exchange.version
    kind = message_class("ApiVersionsResponse")
    response = read(kind, version, data, 4)
    within = exchange.table is not None or exchange.early
    allowed = used_in_virtual_clusters() if within else passed_on()
    response.api_keys = list(_cut(response.api_keys, allowed))
    return data[:4] + bytes(write(response, version))


def refuse_version(header: RequestHeader) -> LocalAnswer:
    """The answer to a version that a newer client has: the versions to ask in (KIP-511)."""
    kind = message_class("ApiVersionsResponse")
    known = kind.ApiVersion(
        api_key=API_VERSIONS,
        min_version=header.api.versions.start,
        max_version=header.api.versions[-1],
    )
    response = kind(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
    return LocalAnswer(
        header.correlation_id.to_bytes(4, "big", signed=True) + bytes(write(response, 0))
    )


def _cut(rows: list[Message], allowed: frozenset[int]) -> Iterator[Message]:
    for row in rows:
        if row.api_key not in allowed:
            continue
        versions = versions_of(apis()[row.api_key])
        first = max(row.min_version, versions.start)
        row.max_version = min(row.max_version, versions[-1])
        if first > row.max_version:
            continue
        # Librdkafka is told that brokers have the oldest versions of Produce, and needs it.
        row.min_version = row.min_version if row.api_key == keys()["Produce"] else first
        yield row
