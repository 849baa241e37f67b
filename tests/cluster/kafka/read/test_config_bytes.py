"""Answers to DescribeConfigs are read as kio reads them, and refused where they are cut off."""

import io
from datetime import timedelta

import pytest
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import i8, i32Timedelta

from kgitops.cluster.kafka.protocol_values import BROKER, TOPIC
from kgitops.cluster.kafka.read.config_bytes import described_resources

OWN, DEFAULT = 1, 5


def config(
    name: str,
    value: str | None,
    source: int,
    *,
    synonyms: int = 0,
    documentation: str | None = None,
) -> DescribeConfigsResourceResult:
    synonym = DescribeConfigsSynonym(name=f"log.{name}", value=None, source=i8(4))
    return DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=False,
        config_source=i8(source),
        is_sensitive=value is None,
        synonyms=(synonym,) * synonyms,
        config_type=i8(2),
        documentation=documentation,
    )


CONFIGS = (
    config("retention.ms", "1", OWN),
    config("segment.ms", "2", DEFAULT),
    config("hidden", None, OWN),
    config("explained", "é" * 300, OWN, synonyms=2, documentation="d" * 20_000),
    config("empty", "", OWN, documentation=""),
)


def resource(kind: int, name: str, error: ErrorCode = ErrorCode.none) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error,
        error_message="no" if error else None,
        resource_type=i8(kind),
        resource_name=name,
        configs=() if error else CONFIGS,
    )


def answer(*resources: DescribeConfigsResult) -> bytes:
    response = DescribeConfigsResponse(
        throttle_time=i32Timedelta.parse(timedelta()), results=resources
    )
    buffer = io.BytesIO()
    entity_writer(DescribeConfigsResponse)(buffer, response)
    return buffer.getvalue()


def test_what_kio_writes_is_read() -> None:
    written = (
        resource(TOPIC, "orders"),
        resource(TOPIC, "gone", ErrorCode.unknown_topic_or_partition),
        resource(BROKER, "1"),
    )
    read = list(described_resources(answer(*written)))
    assert [(one.type, one.name, one.error_code, one.error_message) for one in read] == [
        (TOPIC, "orders", 0, None),
        (TOPIC, "gone", 3, "no"),
        (BROKER, "1", 0, None),
    ]
    every = [(one.name, one.value, one.config_source, one.is_sensitive) for one in CONFIGS]
    assert [tuple(one) for one in read[0].configs] == [one for one in every if one[2] == OWN]
    assert read[1].configs == []
    assert [tuple(one) for one in read[2].configs] == every


def test_tags_of_newer_brokers_are_skipped() -> None:
    plain = answer(resource(TOPIC, "a", ErrorCode.unknown_topic_or_partition))
    tag = b"\x01\x81\x01\x02xy"
    assert list(described_resources(plain[:-2] + tag + tag)) == list(described_resources(plain))


def test_an_answer_that_is_cut_off_is_refused() -> None:
    whole = answer(resource(TOPIC, "orders"), resource(BROKER, "1"))
    for end in range(4, len(whole), 97):
        with pytest.raises(ValueError, match=r"it ends too early|it does not end|decode"):
            list(described_resources(whole[:end]))
