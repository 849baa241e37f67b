"""Kafka's own tools show exactly what a plan said it would make (issue 4, "Done when")."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli.conftest import Kgitops
from cli.projects import Document, acl, document, topic
from kafka_java_tools import Acl, Entity, Topic, acls, quotas, topics

from kgitops.model.registry import Json
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType
from kgitops.model.resources.topics import Assignment
from kgitops.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from real_kafka.conftest import KafkaProject

pytestmark = pytest.mark.kafka


def binding(number: int, kind: str, name: str, operations: list[str], **more: Json) -> Document:
    pattern = more.pop("pattern", "literal")
    resource = {"type": kind, "name": name, "patternType": pattern}
    return acl(f"app-{number}", operations=operations, resource=resource, **more)


def quota(entity: dict[str, Json], **values: float) -> Document:
    return document("ClientQuota", "q", entity=entity, quotas=values)


DEFAULT = {"default": True}
PINNED = {0: [3, 1], 1: [1, 2], 2: [2, 3], 3: [2, 1]}
# Another leader, another broker, and a new partition.
MOVED = {0: [1, 3], 1: [1, 2], 2: [2, 3], 3: [2, 3], 4: [3, 2]}

TOPICS = (
    topic(
        "orders",
        partitions=6,
        replicationFactor=3,
        configs={
            "retention.ms": 604800000,
            "cleanup.policy": ["delete", "compact"],
            "min.insync.replicas": 2,
            "min.cleanable.dirty.ratio": 0.25,
            "message.timestamp.type": "LogAppendTime",
            "preallocate": True,
        },
        deletionPolicy="Delete",
    ),
    topic("pinned", assignments=PINNED, configs={"segment.ms": "7200000"}),
    topic("plain.topic-1", partitions=12, replicationFactor=2),
    topic("going", partitions=1, replicationFactor=1, deletionPolicy="Delete"),
)
ACLS = (
    binding(1, "topic", "orders", ["Read", "Write", "Create", "Delete", "Alter", "Describe"]),
    binding(2, "topic", "ord", ["All", "DescribeConfigs", "AlterConfigs"], pattern="prefixed"),
    binding(3, "topic", "*", ["Delete"], permission="Deny", principal="User:*"),
    binding(4, "group", "billing", ["Read", "Describe"], host="10.0.0.1"),
    binding(5, "group", "bill", ["Delete", "All"], pattern="prefixed", permission="Deny"),
    binding(6, "cluster", "kafka-cluster", ["Create", "ClusterAction", "IdempotentWrite", "All"]),
    binding(7, "cluster", "kafka-cluster", ["Alter"], permission="Deny", host="fe80::1"),
    binding(8, "transactionalId", "tx-1", ["Write", "Describe", "TwoPhaseCommit"]),
    binding(9, "transactionalId", "tx, y=(", ["All"], pattern="prefixed", permission="Deny"),
    binding(10, "delegationToken", "token-owner", ["Describe"]),
    binding(11, "delegationToken", "t", ["All"], pattern="prefixed", permission="Deny"),
    binding(12, "user", "User:alice", ["CreateTokens", "DescribeTokens"]),
    binding(13, "user", "User:a", ["All"], pattern="prefixed", permission="Deny"),
    binding(14, "topic", "orders", ["Read"], principals=["User:CN=app, O=Ä/ö@%", "Group:x y"]),
)
ACLS[-1]["spec"].pop("principal")
# So high that nobody is throttled: those of defaults hold for kgitops, too.
QUOTAS = (
    quota({"user": "alice"}, consumer_byte_rate=1024, request_percentage=12.5),
    quota({"user": DEFAULT}, producer_byte_rate=2**40, controller_mutation_rate=1000000.25),
    quota({"clientId": "app"}, producer_byte_rate=2049),
    quota({"clientId": DEFAULT}, request_percentage=100000.001),
    quota({"user": "alice", "clientId": "a, 'b' = c/d@%"}, producer_byte_rate=2**53),
    quota({"user": "CN=x,O=ÿ", "clientId": DEFAULT}, request_percentage=1e-7),
    quota({"user": DEFAULT, "clientId": "app"}, producer_byte_rate=5),
    quota({"user": DEFAULT, "clientId": DEFAULT}, consumer_byte_rate=2**41),
    quota({"ip": "10.0.0.1"}, connection_creation_rate=7),
    quota({"ip": DEFAULT}, connection_creation_rate=2**31 - 1),
)


class Expected:
    """What the cluster should hold, kept up by what each plan's JSON says it will do."""

    def __init__(self) -> None:
        self.topics: dict[str, tuple[Assignment, dict[str, str]]] = {}
        self.acls: set[Acl] = set()
        self.quotas: dict[Entity, dict[str, float]] = {}

    def after(self, plan: Json) -> None:
        for change in plan["changes"]:
            for view, gone in ((change["before"], True), (change["after"], False)):
                if view is not None:
                    self._set(change["kind"], view, gone=gone)

    def _set(self, kind: str, view: Json, *, gone: bool) -> None:
        match kind:
            case "Topic":
                self.topics.pop(view["name"], None)
                if not gone:
                    replicas = tuple(map(tuple, view["assignments"]))
                    assert len(replicas) == view["partitions"]
                    self.topics[view["name"]] = (replicas, view["configs"])
            case "Acl":
                (self.acls.discard if gone else self.acls.add)(as_the_tools_say(view))
            case "ClientQuota":
                entity = tuple(
                    (part, view["entity"][part])
                    for part in ("user", "client-id", "ip")
                    if part in view["entity"]
                )
                self.quotas.pop(entity, None)
                if not gone:
                    values = view["quotas"].items()
                    self.quotas[entity] = {key: float(value) for key, value in values}
            case "Broker":
                pass  # throttled while replicas move
            case _:
                raise AssertionError(kind)


def as_the_tools_say(view: Json) -> Acl:
    resource = view["resource"]
    return Acl(
        resource=ResourceType(resource["type"]).name,
        name=resource["name"],
        pattern=PatternType(resource["patternType"]).name,
        principal=view["principal"],
        host=view["host"],
        operation=Operation(view["operation"]).name,
        permission=PermissionType(view["permission"]).name,
    )


def seen(found: dict[str, Topic]) -> dict[str, tuple[Assignment, dict[str, str]]]:
    return {name: (there.replicas, dict(there.configs)) for name, there in found.items()}


def test_the_tools_show_exactly_what_the_plan_said(
    kafka: Sandbox, project: "KafkaProject", kgitops: Kgitops
) -> None:
    """Made, then changed and deleted: names, replica lists in order, configs, ACLs, quotas."""
    expected = Expected()

    def plan_and_apply(*documents: Document) -> Json:
        project.write(*documents)
        planned = kgitops("plan", "payments", "-o", "plan.json", "--allow-deletes", "Acl=99")
        assert planned.code == 0, planned.out
        applied = kgitops("apply", "plan.json")
        assert applied.code == 0, applied.said
        plan = json.loads(Path("plan.json").read_text())
        expected.after(plan)
        return plan

    def check() -> dict[str, str]:
        """The topics' ids, as the tools show them."""
        found = topics(kafka)
        assert seen(found) == expected.topics
        assert acls(kafka) == expected.acls
        assert quotas(kafka) == expected.quotas
        return {name: there.topic_id for name, there in found.items()}

    plan_and_apply(*TOPICS, *ACLS, *QUOTAS)
    assert expected.topics["pinned"][0] == ((3, 1), (1, 2), (2, 3), (2, 1))
    assert len(expected.acls) == sum(len(acl["spec"]["operations"]) for acl in ACLS) + 1
    assert len(expected.quotas) == len(QUOTAS)
    ids = check()

    plan = plan_and_apply(
        topic(
            "orders",
            partitions=8,
            replicationFactor=3,
            configs={"retention.ms": 1000, "segment.bytes": 1048576, "cleanup.policy": "delete"},
        ),
        topic("pinned", assignments=MOVED, configs={"segment.ms": "7200000"}),
        topic("plain.topic-1", partitions=12, replicationFactor=3),
        topic("new", partitions=2, replicationFactor=1),
        *ACLS[2:],
        binding(15, "topic", "new", ["Read"], principal="User:new"),
        *QUOTAS[3:],
        quota({"user": "alice"}, producer_byte_rate=1),
    )
    assert {action for change in plan["changes"] for action in change["actions"]} == {
        "create",
        "update",
        "delete",
    }
    assert "going" not in expected.topics
    assert expected.quotas[(("user", "alice"),)] == {"producer_byte_rate": 1}
    assert expected.topics["pinned"][0] == tuple(map(tuple, MOVED.values()))
    assert {len(replicas) for replicas in expected.topics["plain.topic-1"][0]} == {3}
    now = check()
    assert (now["orders"], now["pinned"]) == (ids["orders"], ids["pinned"])
