"""Roles, services, owners and users: the bindings and quotas that each tool makes of them.

The expected ones were written by hand from what the tools document.
"""

from pathlib import Path

import pytest
from conversion.corpus import OWN

from kgitops.conversion.converting import ConvertedProject, convert

BINDINGS = {
    "jikkou": """\
User:billing Allow Read topic orders
User:billing Allow Describe topic orders
User:billing Allow Read group billing prefixed
""",
    "kafka-gitops": """\
User:billing Allow Read topic orders
User:billing Allow Write topic sums
User:billing Allow Read group billing
User:billing Allow Read topic x. prefixed
User:adder Allow Read topic orders
User:adder Allow Write topic sums
User:adder Allow Read topic adder prefixed
User:adder Allow Write topic adder prefixed
User:adder Allow Describe topic adder prefixed
User:adder Allow Delete topic adder prefixed
User:adder Allow Create topic adder prefixed
User:adder Allow Alter topic adder prefixed
User:adder Allow AlterConfigs topic adder prefixed
User:adder Allow DescribeConfigs topic adder prefixed
User:adder Allow Read group adder
User:adder Allow Describe group adder
User:adder Allow Delete group adder
User:adder Allow DescribeConfigs cluster kafka-cluster
User:sink Allow Read topic connect-configs-sink
User:sink Allow Write topic connect-configs-sink
User:sink Allow Read topic connect-offsets-sink
User:sink Allow Write topic connect-offsets-sink
User:sink Allow Read topic connect-status-sink
User:sink Allow Write topic connect-status-sink
User:sink Allow Read group sink
User:sink Allow Read topic sums
User:sink Allow Read group connect-elastic
User:bob Allow Read topic *
User:bob Allow Describe topic *
User:bob Allow DescribeConfigs topic *
User:bob Allow Read group *
User:bob Allow Describe group *
User:bob Allow Describe cluster kafka-cluster
""",
    "kdef": """\
User:a Deny Read topic orders. prefixed
User:a Deny Read topic orders. prefixed from 10.0.0.1
User:b Deny Read topic orders. prefixed
User:b Deny Read topic orders. prefixed from 10.0.0.1
""",
    "ns4kafka": """\
User:shop-user Allow Write topic shop. prefixed
User:shop-user Allow Read topic shop. prefixed
User:shop-user Allow DescribeConfigs topic shop. prefixed
User:shop-user Allow Read group shop. prefixed
User:shop-user Allow Write transactionalId connect-cluster-shop. prefixed
User:shop-user Allow Describe transactionalId connect-cluster-shop. prefixed
User:shop-user Allow Write transactionalId shop. prefixed
User:shop-user Allow Describe transactionalId shop. prefixed
User:shop-user Allow Read group connect-shop. prefixed
User:* Allow Read topic shop.public
User:shop-user Allow Create topic shop.sums prefixed
User:shop-user Allow Delete topic shop.sums prefixed
""",
    "strimzi": """\
User:CN=billing Allow Read topic Orders_2
User:CN=billing Allow Describe topic Orders_2
User:CN=billing Allow Read group billing prefixed
User:CN=billing Deny IdempotentWrite cluster kafka-cluster
""",
    "terraform": """\
User:billing Allow Read topic orders prefixed
""",
    "topicctl": """\
User:billing Allow Read group billing prefixed
User:billing Allow Describe group billing prefixed
""",
}
QUOTAS = {
    "jikkou": [({"user": "billing", "clientId": {"default": True}}, {"producer_byte_rate": 1024})],
    "ns4kafka": [({"user": "shop-user"}, {"producer_byte_rate": 1024})],
    "strimzi": [({"user": "CN=billing"}, {"producer_byte_rate": 1024, "request_percentage": 55})],
}
LOST = {
    "jikkou": [8, 35, 39],
    "julie": [7],
    "kafka-gitops": [19],
    "kdef": [23, 24, 25, 26, 27],
    "ns4kafka": [38, 40],
    "strimzi": [21],
    "terraform": [10, 24],
    "topicctl": [17],
}
"""The lines of what has no counterpart."""


def converted(tool: str) -> ConvertedProject:
    project = convert(OWN[0] / tool, tool, "converted", compacted=False)
    assert not project.findings
    return project


@pytest.mark.parametrize("tool", BINDINGS)
def test_bindings_are_those_that_the_tool_makes(tool: str) -> None:
    found = []
    for item in converted(tool).conversion.objects:
        for document in item.documents:
            if document.kind == "Acl":
                spec = document.spec
                resource = " ".join(str(part) for part in spec["resource"].values())
                host = f" from {spec['host']}" if "host" in spec else ""
                found += [
                    f"{spec['principal']} {spec['permission']} {word} {resource}{host}"
                    for word in spec["operations"]
                ]
    assert sorted(found) == sorted(BINDINGS[tool].splitlines())


@pytest.mark.parametrize("tool", QUOTAS)
def test_quotas_are_those_that_the_tool_sets(tool: str) -> None:
    found = [
        (document.spec["entity"], document.spec["quotas"])
        for item in converted(tool).conversion.objects
        for document in item.documents
        if document.kind == "ClientQuota"
    ]
    assert found == QUOTAS[tool]


def test_configs_of_brokers_are_those_that_the_tool_sets() -> None:
    declared = {
        document.name: document.spec
        for item in converted("kdef").conversion.objects
        for document in item.documents
        if document.kind == "BrokerConfig"
    }
    assert declared == {
        "<default>": {"configs": {"num.io.threads": 8}},
        "1": {"configs": {"background.threads": 11}},
    }
    (problems,) = [
        [loss.problem for loss in item.losses]
        for item in converted("kdef").conversion.objects
        if item.losses
    ]
    assert problems == [
        "broker 1: log.dirs is read when a broker starts, and can't be changed while it runs",
        "broker 1: Kafka has no broker config num.io.thread (did they mean num.io.threads?)",
        "broker 1: log.retention.ms must be a whole number from -1 to 9223372036854775807, not "
        "'soon'",
        "broker 1: compression.type has no value",
        "broker 1: deleteUndefinedConfigs: kgitops removes no configs of brokers that no document "
        "declares",
    ]


@pytest.mark.parametrize("tool", LOST)
def test_what_has_no_counterpart_is_told_at_its_line(tool: str) -> None:
    lines = sorted(loss.source.line for loss in converted(tool).conversion.losses)
    assert lines == LOST[tool]


UNREADABLE = {
    "jikkou": """\
apiVersion: kafka.jikkou.io/v1
kind: KafkaPrincipalAuthorization
metadata: {name: "User:x"}
spec:
  acls:
    - {resource: {type: topic, pattern: a, patternType: LITERAL}, operations: [READ], host: [a]}
""",
    "strimzi": """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: x}
spec:
  authorization:
    type: simple
    acls: [{resource: {type: topic, name: a}, operations: [Read], host: {a: b}}]
""",
    "topicctl": """\
meta: {name: x, cluster: c, environment: e, region: r}
spec:
  acls:
    - resource: {type: topic, name: a, patternType: literal, principal: "User:x", host: [a]}
      operations: [read]
""",
    "kdef": """\
apiVersion: v1
kind: acl
metadata: {name: a, type: topic}
spec: {acls: [{principals: ["User:x"], hosts: [null, 010], operations: [READ]}]}
""",
    "kafka-gitops": """\
users: {x: {principal: "User:x"}}
customUserAcls:
  x: {a: {name: a, type: TOPIC, pattern: LITERAL, host: [a], operation: READ, permission: ALLOW}}
""",
    "julie": """\
context: c
projects:
  - name: p
    topics: [{name: a, config: {num.partitions: 1, replication.factor: 1}}]
    consumers: [{principal: "User:x", group: [a]}]
""",
}
"""An ACL whose host, or a grant whose group, can't be read."""


@pytest.mark.parametrize("tool", UNREADABLE)
def test_what_can_t_be_read_is_not_taken_for_all(tool: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(UNREADABLE[tool])
    conversion = convert(tmp_path, tool, "converted", compacted=False).conversion
    declared = [document for item in conversion.objects for document in item.documents]
    assert [document.name for document in declared if document.kind == "Acl"] == []
    assert conversion.losses
