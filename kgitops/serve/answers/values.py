"""Kafka's numbers and bytes for what the embedded cluster has words for."""

import base64
from binascii import a2b_base64
from collections.abc import Iterable

from kgitops.cluster.embedded.effective.entries import ConfigSource
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.protocol_codes import OPERATIONS
from kgitops.model.results import OK, RequestResult
from kgitops.wire.messages import NIL_UUID

NOT_ASKED_FOR = -(2**31)
"""The authorized operations of an answer that was not asked for them (KIP-430)."""

CONFIG_SOURCES = {
    # org.apache.kafka.clients.admin.ConfigEntry.ConfigSource, by DescribeConfigsResponse's ids
    ConfigSource.DYNAMIC_TOPIC_CONFIG: 1,
    ConfigSource.DYNAMIC_BROKER_CONFIG: 2,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: 3,
    ConfigSource.STATIC_BROKER_CONFIG: 4,
    ConfigSource.DEFAULT_CONFIG: 5,
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: 6,
    ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG: 7,
    ConfigSource.DYNAMIC_GROUP_CONFIG: 8,
}

_FROM_URL = bytes.maketrans(b"-_", b"+/")


def operation_bits(operations: Iterable[Operation]) -> int:
    """Operations as the bits of their codes (KIP-430); Kafka has none for virtual clusters."""
    return sum(1 << OPERATIONS[item] for item in operations if item in OPERATIONS)


def topic_id_bytes(text: str | None) -> bytes:
    """A topic id's 16 bytes; zeros for none."""
    return a2b_base64(text.encode().translate(_FROM_URL) + b"==") if text else NIL_UUID


def topic_id_text(data: bytes) -> str:
    """A topic id as Kafka prints it."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def message_of(result: RequestResult) -> str | None:
    """The message of a result; null where there is none, or no error."""
    return None if result is OK or result.ok else result.message
