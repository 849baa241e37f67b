"""A cluster that people ran by hand is exported, adopted and watched (issue 4, item 7).

Everything on it is made by Kafka's own tools, as it was in the years before.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from kafka_java_tools import ACLS, CONFIGS, TOPICS

from kgitops.cluster.port import Cluster
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import TopicState
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = [pytest.mark.kafka, pytest.mark.default_kafka]


def make_mess(kafka: Sandbox) -> None:
    """Topics, configs, ACLs and quotas as administrators type them."""
    kafka.tool(
        TOPICS, "--create", "--topic", "legacy.orders", "--partitions", "3",
        "--replication-factor", "2", "--config", "retention.ms=604800000",
        "--config", "cleanup.policy=delete,compact", "--config", "compression.type=lz4",
    )  # fmt: skip
    kafka.tool(TOPICS, "--create", "--topic", "By_Hand", "--replica-assignment", "3:1,1:2,2:3")
    # What a reassignment left behind, and what keeps an archive.
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", "By_Hand",
        "--add-config", "leader.replication.throttled.replicas=[0:1,1:2],retention.ms=-1,"
        "min.insync.replicas=2,file.delete.delay.ms=1000",
    )  # fmt: skip
    kafka.tool(
        ACLS, "--add", "--allow-principal", "User:CN=app,OU=x", "--allow-principal", "User:b${env}",
        "--allow-host", "10.0.0.1", "--allow-host", "*",
        "--operation", "Read", "--operation", "Describe", "--topic", "legacy.",
        "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    kafka.tool(
        ACLS, "--add", "--deny-principal", "User:no", "--operation", "All", "--topic", "*",
        "--group", "0x10", "--cluster", "--transactional-id", "1e3",
    )  # fmt: skip
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "users", "--entity-name", "true",
        "--entity-type", "clients", "--entity-default",
        "--add-config", "consumer_byte_rate=1048576,request_percentage=12.5",
    )  # fmt: skip
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "ips", "--entity-default",
        "--add-config", "connection_creation_rate=100000",
    )  # fmt: skip


def test_a_cluster_made_by_hand_is_adopted_as_it_is_and_watched(
    kafka: Sandbox, kafka_cluster: Cluster, project: "KafkaProject", kgitops: Kgitops
) -> None:
    make_mess(kafka)
    before = seen(kafka_cluster)
    assert [len(found) for found in before] == [2, 12, 2]
    project.manifests.rmdir()

    exported = kgitops("export", "payments", "-o", "payments/manifests")
    assert (exported.code, "16 to adopt, nothing to change" in exported.said) == (0, True)
    planned = kgitops("plan", "payments", "--format", "json")
    changes = json.loads(planned.out)["changes"]
    assert {tuple(change["actions"]) for change in changes} == {("adopt",)}
    assert [change for change in changes if change["fields"] or change["requests"]] == []
    applied = kgitops("apply", "payments", "--auto-approve")
    assert (applied.code, "Applied: 16 done." in applied.said) == (0, True)
    assert kgitops("plan", "payments", "--detailed-exitcode").code == 0
    assert kgitops("drift", "payments", "--detailed-exitcode").code == 0
    assert seen(kafka_cluster) == before

    change_by_hand(kafka)
    drifted = kgitops("drift", "payments", "--detailed-exitcode")
    assert drifted.code == 2
    shown = [" ".join(line.split()) for line in drifted.out.splitlines()]
    after = seen(kafka_cluster)
    for line in (
        "DRIFT (11 differences, 5 objects)",
        "~ topic legacy.orders",
        "~ retention.ms 604800000 (7 d) -> 1000 (1 s)",
        "- compression.type lz4 -> (not set)",
        "+ segment.ms (not set) -> 7200000 (2 h) (not declared)",
        "~ partitions 3 -> 4 (can't be undone)",
        "- topic By_Hand deleted and re-created: topic id "
        f"{before[0]['By_Hand'].topic_id} -> {after[0]['By_Hand'].topic_id}",
        "- acl User:CN=app,OU=x Allow Read topic legacy. (prefixed) deleted",
        "~ quota user=true, client-id=<default>",
        "- request_percentage 12.5 (percent of a thread) -> (not set)",
        "- quota ip=<default> deleted",
        "By whom is unknown: this cluster keeps no record of it.",
    ):
        assert line in shown, drifted.out


Seen = tuple[
    Mapping[str, TopicState], frozenset[AclBinding], Mapping[ClientQuotaEntity, ClientQuotaState]
]


def seen(cluster: Cluster) -> Seen:
    """All that administrators made."""
    state = cluster.read_state()
    named = {name: topic for name, topic in state.topics.items() if not topic.internal}
    return named, state.acls, state.quotas


def change_by_hand(kafka: Sandbox) -> None:
    """What somebody does beside kgitops later."""
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", "legacy.orders",
        "--add-config", "retention.ms=1000,segment.ms=7200000",
        "--delete-config", "compression.type",
    )  # fmt: skip
    kafka.tool(TOPICS, "--alter", "--topic", "legacy.orders", "--partitions", "4")
    kafka.tool(TOPICS, "--delete", "--topic", "By_Hand")
    kafka.tool(TOPICS, "--create", "--topic", "By_Hand", "--replica-assignment", "3:1,1:2,2:3")
    kafka.tool(
        ACLS, "--remove", "--force", "--allow-principal", "User:CN=app,OU=x", "--allow-host", "*",
        "--operation", "Read", "--topic", "legacy.", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "users", "--entity-name", "true",
        "--entity-type", "clients", "--entity-default", "--delete-config", "request_percentage",
    )  # fmt: skip
    kafka.tool(
        CONFIGS, "--alter", "--entity-type", "ips", "--entity-default",
        "--delete-config", "connection_creation_rate",
    )  # fmt: skip
