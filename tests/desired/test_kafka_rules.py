"""What Kafka would refuse is refused offline, at its place; what is maybe_applied is a warning."""

from pathlib import Path

import pytest
from manifests.loading import acl, findings, load, quota, tombstone, topic, write

ACL = "principal: User:a\npermission: Allow\noperations: [Read]\nresource: {type: topic, name: t}"


def sized(rest: str) -> str:
    return topic(spec=f"{{partitions: 2, replicationFactor: 2, {rest}}}")


def configured(configs: str) -> str:
    return sized(f"configs: {{{configs}}}")


ERRORS: dict[str, tuple[str, str, str]] = {
    # Names (A4-11, A4-49, P201-20).
    "an illegal character": (topic("a/b"), "3:18", "contains '/'"),
    "two dots": (topic("'..'"), "3:18", "can't be named '..'"),
    "250 characters": (topic("a" * 250), "3:18", "has 250 characters, Kafka allows 249"),
    "an internal topic": (topic("__consumer_offsets"), "3:18", "brokers own it"),
    "the metadata log": (topic("__cluster_metadata"), "3:18", "brokers own it"),
    "the registry": (topic("__kgitops"), "3:18", "kgitops keeps its registry in it"),
    "names that collide": (
        topic("a.b") + "---\n" + topic("a_b"),
        "8:18",
        "the topics 'a_b' and 'a.b' (a.yaml:1:1) collide",
    ),
    # Size: one of the two ways, whole (A4-33, A4-34, A4-35).
    "no size": (topic(spec="{}"), "4:7", "the topic has no size; write spec.partitions and"),
    "partitions alone": (topic(spec="{partitions: 1}"), "4:8", "add spec.replicationFactor"),
    "a replication factor alone": (topic(spec="{replicationFactor: 1}"), "4:8", "add spec.part"),
    "both ways": (sized("assignments: {0: [1]}"), "4:8", "can't be combined with spec.assignments"),
    # Assignments (A4-45).
    "a gap": (topic(spec="{assignments: {0: [1], 2: [1]}}"), "4:21", "none with the id 1"),
    "none for partition 0": (topic(spec="{assignments: {1: [1]}}"), "4:21", "with the id 0"),
    "unequal replicas": (
        topic(spec="{assignments: {0: [1, 2], 1: [1]}}"),
        "4:36",
        "partition 1 has 1 replica, another has 2",
    ),
    "a broker twice": (topic(spec="{assignments: {0: [1, 1]}}"), "4:25", "names broker 1 twice"),
    "no replicas": (topic(spec="{assignments: {0: []}}"), "4:25", "partition 0 has no replicas"),
    "no assignments": (topic(spec="{assignments: {}}"), "4:21", "spec.assignments is empty"),
    # Configs.
    "a misspelt config": (configured("retention.mss: 1"), "4:55", "did you mean retention.ms?"),
    "a config in camelCase": (configured("retentionMs: 1"), "4:55", "did you mean retention.ms?"),
    "a broker's config": (configured("log.retention.ms: 1"), "4:55", "did you mean retention.ms?"),
    "a config that Kafka 4 removed": (
        configured("message.timestamp.difference.max.ms: 1"),
        "4:55",
        "write message.timestamp.before.max.ms and message.timestamp.after.max.ms instead",
    ),
    "a throttle": (
        configured('leader.replication.throttled.replicas: "*"'),
        "4:55",
        "it can't be declared; remove it",
    ),
    "a word for a number": (configured("retention.ms: week"), "4:69", "not 'week'"),
    "yes": (configured("preallocate: yes"), "4:68", "preallocate must be true or false, not 'yes'"),
    "a number out of range": (configured("min.insync.replicas: 0"), "4:76", "from 1 to"),
    "an unknown policy": (configured("cleanup.policy: remove"), "4:71", "compact and delete"),
    "a list for one value": (configured("retention.ms: [1]"), "4:69", "takes one value"),
    "lags that cross": (
        configured("min.compaction.lag.ms: 9, max.compaction.lag.ms: 3"),
        "4:78",
        "min.compaction.lag.ms is 9, more than max.compaction.lag.ms, which is 3",
    ),
    "tiered and compacted": (
        configured("cleanup.policy: compact, remote.storage.enable: true"),
        "4:71",
        "cleanup.policy must be delete or empty",
    ),
    # Records (A4-81).
    "records of no partition": (sized("deleteRecordsBefore: {2: 5}"), "4:67", "no partition 2"),
    "records of a compacted topic": (
        sized("configs: {cleanup.policy: compact}, deleteRecordsBefore: {0: 5}"),
        "4:81",
        "Kafka deletes no records of a topic whose cleanup.policy is compact",
    ),
    # ACLs (A4-95).
    "an operation that the type lacks": (
        acl(ACL.replace("Read", "IdempotentWrite")),
        "7:16",
        "IdempotentWrite is not an operation on a topic; write one of All, Alter",
    ),
    "a principal without type": (acl(ACL.replace("User:a", "alice")), "5:14", "Type:name"),
    "no principal": (acl(ACL.removeprefix("principal: User:a\n")), "5:3", "names no principal"),
    "two kinds of principal": (acl(ACL + "\nprincipals: [User:b]"), "5:3", "are both given"),
    "a cluster's name": (
        acl(ACL.replace("topic, name: t", "cluster, name: a:b").replace("Read", "Alter")),
        "8:35",
        "the name 'a:b' contains ':'",
    ),
    "a prefix of the cluster": (
        acl(
            "principal: User:a\npermission: Allow\noperations: [Alter]\n"
            "resource: {type: cluster, name: kafka-cluster, patternType: prefixed}"
        ),
        "8:63",
        "can only be named literally",
    ),
    "an ACL on the registry": (
        acl(ACL.replace("name: t", "name: __kgitops")),
        "8:33",
        "ACLs on __kgitops can't be declared",
    ),
    "a name that no request can hold": (
        acl(ACL.replace("topic, name: t", f"group, name: {'g' * 32_768}")),
        "8:33",
        "the name has 32,768 bytes, Kafka allows 32,767",
    ),
    "a principal that no request can hold": (
        acl(ACL.replace("User:a", f"User:{'ä' * 16_382}")),
        "5:14",
        "the principal has 32,769 bytes, Kafka allows 32,767",
    ),
    "a host that no request can hold": (
        acl(f"{ACL}\nhost: {'h' * 32_768}"),
        "9:9",
        "the host has 32,768 bytes, Kafka allows 32,767",
    ),
    "a user that no request can hold": (
        quota(f"{{user: {'u' * 32_768}}}", "{request_percentage: 1}"),
        "5:18",
        "the user has 32,768 bytes, Kafka allows 32,767",
    ),
    "a client id that no request can hold": (
        quota(f"{{clientId: {'c' * 32_768}}}", "{request_percentage: 1}"),
        "5:22",
        "the clientId has 32,768 bytes, Kafka allows 32,767",
    ),
    "an address of one machine alone": (
        quota("{ip: 'fe80::1%eth0'}", "{connection_creation_rate: 1}"),
        "5:16",
        "'fe80::1%eth0' is not an IP address",
    ),
    "a binding twice in a document": (
        acl(ACL.replace("[Read]", "[Read, READ]")),
        "5:3",
        "declares acl/User:a/Allow/Read/topic/literal/t@* twice",
    ),
    "a binding in two documents": (
        acl(ACL) + "---\n" + acl(ACL.replace("[Read]", "[Write, Read]")),
        "17:13",
        "acl/User:a/Allow/Read/topic/literal/t@* is declared already at a.yaml:1:1",
    ),
    # Quotas (F590-50, F590-51).
    "no entity": (quota("{}", "{producer_byte_rate: 1}"), "5:11", "the quota names no entity"),
    "an ip with a user": (
        quota("{ip: 10.0.0.1, user: a}", "{connection_creation_rate: 1}"),
        "5:12",
        "an ip can't be combined",
    ),
    "an ip that is a name": (
        quota("{ip: host}", "{connection_creation_rate: 1}"),
        "5:16",
        "'host' is not an IP address",
    ),
    "a misspelt quota": (
        quota("{user: a}", "{producer_byte_rates: 1}"),
        "6:12",
        "did you mean producer_byte_rate?",
    ),
    "a user's quota for an ip": (
        quota("{ip: 10.0.0.1}", "{request_percentage: 1}"),
        "6:12",
        "not a quota of an ip; write one of connection_creation_rate",
    ),
    "an ip's quota for a user": (
        quota("{user: a}", "{connection_creation_rate: 1}"),
        "6:12",
        "not a quota of a user or client id",
    ),
    "a quota of 0": (quota("{user: a}", "{request_percentage: 0}"), "6:32", "above 0, not 0"),
    "a quota below 0": (quota("{user: a}", "{producer_byte_rate: -1}"), "6:32", "above 0, not -1"),
    "an endless quota": (quota("{user: a}", "{request_percentage: .inf}"), "6:32", "not inf"),
    "no quota at all": (quota("{user: a}", "{request_percentage: .nan}"), "6:32", "not nan"),
    "a fraction of a byte": (
        quota("{user: a}", "{consumer_byte_rate: 1.5}"),
        "6:32",
        "must be a whole number, not 1.5",
    ),
    "a rate that no double holds": (
        quota("{user: a}", "{consumer_byte_rate: 9007199254740993}"),
        "6:32",
        "must be at most 9007199254740992",
    ),
    "too many connections": (
        quota("{ip: 10.0.0.1}", "{connection_creation_rate: 2147483648}"),
        "6:38",
        "must be at most 2147483647",
    ),
    "an entity twice": (
        quota("{user: {default: true}}", "{request_percentage: 1}")
        + "---\n"
        + quota("{user: <default>}", "{producer_byte_rate: 1}"),
        "12:11",
        "quota/user=<default> is declared already at a.yaml:1:1",
    ),
    # Tombstones.
    "no target": (tombstone("{}"), "5:11", "the target names no object"),
    "a name for an address": (tombstone("{address: orders}"), "5:21", "'orders' is not an address"),
    "an address in other words": (
        tombstone("{address: acl/User:a/allow/read/topic/literal/t@*}"),
        "5:21",
        "is not an address",
    ),
    "an ACL by name": (
        tombstone("{kind: Acl, name: a}"),
        "5:18",
        "'Acl' can't be named by kind and name",
    ),
    "address and name": (
        tombstone("{kind: Topic, name: a, address: topic/a}"),
        "5:11",
        "an address in addition to its kind, name or",
    ),
    "a topic id of a quota": (
        tombstone("{address: quota/user=a, topicId: x}"),
        "5:35",
        "only a topic has a topicId",
    ),
    "the end of the registry": (tombstone("{address: topic/__kgitops}"), "5:21", "it is internal"),
    "a tombstone twice": (
        tombstone("{address: topic/a}") + "---\n" + tombstone("{kind: Topic, name: a}"),
        "12:11",
        "topic/a has a Tombstone already at a.yaml:1:1",
    ),
    "a tombstone beside the object": (
        topic("a") + "---\n" + tombstone("{kind: Topic, name: a}"),
        "10:11",
        "topic/a has a Tombstone and is declared at a.yaml:1:1",
    ),
}

WARNINGS: dict[str, tuple[str, str, str]] = {
    "more in sync than there are": (
        configured("min.insync.replicas: 3"),
        "4:76",
        "min.insync.replicas is 3 but each partition has 2 replicas",
    ),
    "against Kafka's default": (
        configured("remote.storage.enable: true, local.retention.ms: 9999999999"),
        "4:104",
        "with Kafka's defaults local.retention.ms is 9999999999, more than retention.ms",
    ),
    "a host name": (
        acl(ACL + "\nhost: app.example.com"),
        "9:9",
        "'app.example.com' never matches",
    ),
    "a short spelling of IPv6": (
        acl(ACL + "\nhost: '2001:DB8::1'"),
        "9:9",
        "brokers write this address as 2001:db8:0:0:0:0:0:1, so '2001:DB8::1' never matches; "
        'write "2001:db8:0:0:0:0:0:1"',
    ),
    "an IPv4 address as IPv6": (
        acl(ACL + "\nhost: '::ffff:10.0.0.1'"),
        "9:9",
        'write "10.0.0.1"',
    ),
    "a star that is a prefix": (
        acl(ACL.replace("name: t", 'name: "*", patternType: prefixed')),
        "8:33",
        "not every resource",
    ),
    "a star at the end": (acl(ACL.replace("name: t", 'name: "t*"')), "8:33", "is not a wildcard"),
    "a name that no topic has": (acl(ACL.replace("name: t", "name: a b")), "8:33", "nothing"),
    "nearly the cluster's name": (
        acl(ACL.replace("topic, name: t", "cluster, name: Kafka_Cluster").replace("Read", "Alter")),
        "8:35",
        "write kafka-cluster if you mean the cluster itself",
    ),
    "a principal for a user": (
        quota('{user: "User:a"}', "{request_percentage: 1}"),
        "5:18",
        "write 'a'",
    ),
}


def said_about(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    write(tmp_path, {"a.yaml": text})
    monkeypatch.chdir(tmp_path)
    return findings(load("a.yaml"))


@pytest.mark.parametrize("case", ERRORS)
def test_it_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, place, words = ERRORS[case]
    said = said_about(text, tmp_path, monkeypatch)
    assert any(one.startswith(f"a.yaml:{place}: ") and words in one for one in said), said
    assert not any("warning" in one for one in said)


@pytest.mark.parametrize("case", WARNINGS)
def test_it_is_a_warning(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, place, words = WARNINGS[case]
    (said,) = said_about(text, tmp_path, monkeypatch)
    assert said.startswith(f"a.yaml:{place}: warning: "), said
    assert words in said


def test_findings_of_loading_and_of_the_rules_come_together_in_the_order_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        {"b.yaml": topic(spec="{partitions: x}"), "a.yaml": topic("a/b"), "c.yaml": topic("c/d")},
    )
    monkeypatch.chdir(tmp_path)
    assert [one[:6] for one in findings(load("."))] == ["a.yaml", "b.yaml", "c.yaml"]


def test_a_vendors_configs_pass_where_the_project_allows_them(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": configured("confluent.tier.enable: true, retentionn.ms: 1")})
    (said,) = findings(load(tmp_path), allow_configs=("confluent.*",))
    assert "retentionn.ms" in said


def test_a_config_that_starts_no_rule_breaks_none() -> None:
    """The build looks for rules between configs only where one of a few keys is set."""
    from kgitops.desired.configs import START_A_RULE
    from kgitops.model.resources.topic_configs import configs_problems, topic_configs

    for key, config in topic_configs().items():
        edges = (config.minimum, config.maximum, *config.valid_values, "true", "false", 0, 2**31)
        if key not in START_A_RULE:
            for value in edges:
                assert not configs_problems({key: str(value)}), (key, value)
