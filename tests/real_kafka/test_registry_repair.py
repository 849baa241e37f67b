"""Garbage that a real producer wrote into ``__kgitops`` is told, mended, and remembered."""

from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import acl, topic

from kgitops.cluster.port import Cluster
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka


def produce(kafka: Sandbox, *records: tuple[bytes, bytes | None]) -> None:
    """As any client with the right to write."""
    from confluent_kafka import Producer

    failed: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.servers, **kafka.configs})
    for key, value in records:
        producer.produce(REGISTRY_TOPIC, value, key, callback=lambda error, _: failed.append(error))
    producer.flush(60)
    assert failed == [None] * len(records)


def test_garbage_is_told_and_mended_and_what_the_log_still_has_counts_again(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    project.write(topic("orders"), topic("audit"), acl())
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    sound = kafka_cluster.registry.read() or ()
    owners = {entry.key: entry.value for entry in sound if entry.key.startswith("own/")}
    (known,) = [entry.offset for entry in sound if entry.key == "own/topic/orders"]
    produce(
        kafka,
        (b"own/topic/orders", b"hello"),
        (b"own/topic/audit", b"\xff\xfe"),
        (b"meta", b"[]"),
        (b"\xff key", b"{}"),
    )

    refused = kgitops("plan", "payments")
    assert refused.code == 5
    assert "key 'own/topic/orders', is not a JSON object" in refused.said
    checked = kgitops("registry", "check", "payments")
    assert checked.code == 5, checked
    assert "records, 4 of them can't be used" in checked.out
    assert (
        "'own/topic/orders' is not a JSON object as kgitops writes it, so someone else wrote "
        f"it; the record at offset {known} counts again" in checked.out
    )
    assert kgitops("registry", "repair", "payments", "--dry-run").out == checked.out
    assert kgitops("registry", "check", "payments").out == checked.out

    mended = kgitops("registry", "repair", "payments", "--auto-approve")
    assert mended.code == 0, mended
    assert kgitops("registry", "check", "payments").code == 0
    assert kgitops("plan", "payments", "--detailed-exitcode").code == 0
    latest = {entry.key: entry.value for entry in kafka_cluster.registry.read() or ()}
    assert {key: latest[key] for key in owners} == owners
    (record,) = [value for key, value in latest.items() if key.startswith("repair/")]
    assert record is not None
    assert len(record["records"]) == 4
    project.write(topic("orders"), topic("audit"), acl(), topic("later"))
    assert kgitops("apply", "payments", "--auto-approve").code == 0


def test_a_damaged_claim_blocks_for_a_while_only(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    """Whoever wrote it may be at work, so that nothing is mended at once."""
    project.write(topic("orders"))
    assert kgitops("apply", "payments", "--auto-approve").code == 0
    produce(kafka, (b"lock/garbage", b"hello"))
    ran = kgitops("registry", "repair", "payments", "--auto-approve")
    assert ran.code == 7
    assert "can't be read, so its holder may be at work" in ran.said
