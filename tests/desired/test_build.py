"""Documents become what they ask for, in one normal form whatever their spelling."""

from dataclasses import replace
from pathlib import Path

import pytest
from manifests.loading import acl, build, load, quota, tombstone, topic, write

from kgitops.desired.build import build_desired
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.json.declared import (
    ConfigsPolicy,
    DeletionPolicy,
    DesiredAcl,
    DesiredQuota,
    DesiredTopic,
)
from kgitops.model.resources.acls import Operation, PatternType, PermissionType, ResourceType


def desired(tmp_path: Path, *texts: str, **options: tuple[str, ...]) -> DesiredState:
    write(tmp_path, {f"{index}.yaml": text for index, text in enumerate(texts)})
    return build(load(tmp_path), **options)


def configs(tmp_path: Path, text: str, **options: tuple[str, ...]) -> dict[str, str]:
    spec = f"{{partitions: 1, replicationFactor: 1, configs: {{{text}}}}}"
    return dict(desired(tmp_path, topic(spec=spec), **options).of(DesiredTopic)[0].configs)


def test_a_topic_has_all_it_declares(tmp_path: Path) -> None:
    text = """\
apiVersion: kgitops/v1
kind: Topic
metadata: {name: orders, labels: {team: payments}}
spec:
  partitions: 6
  replicationFactor: 3
  configs: {retention.ms: 604800000}
  configsPolicy: Exact
  deleteRecordsBefore: {0: 1500, 5: 0}
  deletionPolicy: Orphan
"""
    (built,) = desired(tmp_path, text).of(DesiredTopic)
    assert built == DesiredTopic(
        address="topic/orders",
        name="orders",
        partitions=6,
        replication_factor=3,
        configs={"retention.ms": "604800000"},
        delete_records_before={0: 1500, 5: 0},
        deletion_policy=DeletionPolicy.ORPHAN,
        deletion_policy_written=True,
        configs_policy=ConfigsPolicy.EXACT,
        labels={"team": "payments"},
        located=built.located,
    )
    assert built.located.at("spec", "configs", "retention.ms").line == 7


def test_a_topic_is_protected_unless_it_says_otherwise(tmp_path: Path) -> None:
    (built,) = desired(tmp_path, topic()).of(DesiredTopic)
    assert built.deletion_policy is DeletionPolicy.PROTECT
    assert not built.deletion_policy_written


def test_an_assignment_gives_the_size(tmp_path: Path) -> None:
    """A4-37: partition and replica counts are derived from it, in the order of partition ids."""
    (built,) = desired(tmp_path, topic(spec="{assignments: {1: [2, 3], 0: [1, 2]}}")).of(
        DesiredTopic
    )
    assert built.assignment == ((1, 2), (2, 3))
    assert (built.partitions, built.replication_factor) == (2, 2)


def test_json_writes_partition_ids_as_text(tmp_path: Path) -> None:
    (built,) = desired(tmp_path, topic(spec='{"assignments": {"0": [1], "1": [2]}}')).of(
        DesiredTopic
    )
    assert built.assignment == ((1,), (2,))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("retention.ms: 604800000", "604800000"),
        ('retention.ms: "604800000"', "604800000"),
        ("retention.ms: 6.048e8", "604800000"),
        ("retention.ms: 0x240C8400", "604800000"),
        ("retention.ms: 9223372036854775807", "9223372036854775807"),
        ("retention.ms: -1", "-1"),
        ("preallocate: true", "true"),
        ('preallocate: "TRUE"', "true"),
        ("min.cleanable.dirty.ratio: 0.50", "0.5"),
        ("min.cleanable.dirty.ratio: 1", "1.0"),
        ("cleanup.policy: [delete, compact]", "compact,delete"),
        ('cleanup.policy: "delete, compact"', "compact,delete"),
        ("cleanup.policy: []", ""),
        ("compression.type: zstd", "zstd"),
    ],
)
def test_configs_have_kafkas_normal_form(tmp_path: Path, written: str, expected: str) -> None:
    assert list(configs(tmp_path, written).values()) == [expected]


def test_equal_spellings_of_a_config_do_not_leak_into_each_other(tmp_path: Path) -> None:
    """1, 1.0 and true are equal to Python, and three different things to Kafka."""
    write(
        tmp_path,
        {
            f"{name}.yaml": topic(
                name,
                f"{{partitions: 1, replicationFactor: 1, configs: {{vendor.x: {value}}}}}",
            )
            for name, value in {"a": "1", "b": "true", "c": "1.0", "d": '"1"'}.items()
        },
    )
    built = build(load(tmp_path), allow_configs=("vendor.*",)).of(DesiredTopic)
    assert [one.configs["vendor.x"] for one in built] == ["1", "true", "1.0", "1"]


def test_an_acl_document_makes_a_binding_for_each_principal_and_operation(tmp_path: Path) -> None:
    """VC-421: its identity is the binding, not the document's name."""
    text = (
        acl(
            "principals: [User:billing, User:audit]\nhost: 10.0.0.1\npermission: DENY\n"
            "operations: [read, DESCRIBE_CONFIGS]\n"
            "resource: {type: TRANSACTIONAL_ID, name: a/b, patternType: Prefixed}\n"
            "deletionPolicy: Protect"
        )
        .replace("DESCRIBE_CONFIGS", "describe")
        .replace("read", "Write")
    )
    built = desired(tmp_path, text).of(DesiredAcl)
    assert [one.address for one in built] == [
        "acl/User:audit/Deny/Describe/transactionalId/prefixed/a%2Fb@10.0.0.1",
        "acl/User:audit/Deny/Write/transactionalId/prefixed/a%2Fb@10.0.0.1",
        "acl/User:billing/Deny/Describe/transactionalId/prefixed/a%2Fb@10.0.0.1",
        "acl/User:billing/Deny/Write/transactionalId/prefixed/a%2Fb@10.0.0.1",
    ]
    binding = built[0].binding
    assert binding.resource_type is ResourceType.TRANSACTIONAL_ID
    assert binding.pattern_type is PatternType.PREFIXED
    assert binding.permission_type is PermissionType.DENY
    assert binding.operation is Operation.DESCRIBE
    assert all(one.deletion_policy is DeletionPolicy.PROTECT for one in built)
    assert all(one.deletion_policy_written for one in built)


def test_an_acl_is_literal_from_anywhere_and_deleted_with_its_document(tmp_path: Path) -> None:
    text = acl(
        "principal: User:a\npermission: Allow\noperations: [All]\nresource: {type: group, name: g}"
    )
    (built,) = desired(tmp_path, text).of(DesiredAcl)
    assert built.address == "acl/User:a/Allow/All/group/literal/g@*"
    assert (built.deletion_policy, built.deletion_policy_written) == (DeletionPolicy.DELETE, False)


@pytest.mark.parametrize(
    ("entity", "address"),
    [
        ("{user: a}", "quota/user=a"),
        ("{clientId: a}", "quota/client-id=a"),
        ("{clientId: b, user: a}", "quota/user=a,client-id=b"),
        ("{user: {default: true}}", "quota/user=<default>"),
        ('{user: "<default>"}', "quota/user=<default>"),
        ("{user: a, clientId: {default: true}}", "quota/user=a,client-id=<default>"),
        ('{user: "a,b=c"}', "quota/user=a%2Cb%3Dc"),
    ],
)
def test_a_quota_has_the_address_of_its_entity(tmp_path: Path, entity: str, address: str) -> None:
    """F590-50, VC-422."""
    (built,) = desired(tmp_path, quota(entity, "{request_percentage: 12.5}")).of(DesiredQuota)
    assert built.address == address
    assert built.quotas == {"request_percentage": 12.5}


@pytest.mark.parametrize("ip", ["10.0.0.1", "'::1'", "{default: true}"])
def test_an_ip_has_one_quota(tmp_path: Path, ip: str) -> None:
    (built,) = desired(tmp_path, quota(f"{{ip: {ip}}}", "{connection_creation_rate: 7}")).of(
        DesiredQuota
    )
    assert built.quotas == {"connection_creation_rate": 7.0}


@pytest.mark.parametrize(
    ("target", "address", "topic_id"),
    [
        ("{kind: Topic, name: orders.v1}", "topic/orders.v1", None),
        ("{address: topic/orders.v1, topicId: abc}", "topic/orders.v1", "abc"),
        (
            '{address: "acl/User:CN=a/Allow/Read/topic/literal/t@*"}'.replace("CN=", "CN%3D"),
            "acl/User:CN%3Da/Allow/Read/topic/literal/t@*",
            None,
        ),
        (
            '{address: "quota/user=a,client-id=<default>"}',
            "quota/user=a,client-id=<default>",
            None,
        ),
        ("{address: quota/ip=10.0.0.1}", "quota/ip=10.0.0.1", None),
        ("{kind: ConsumerGroup, name: a/b}", "group/a%2Fb", None),
        ("{address: group/g}", "group/g", None),
        ("{kind: ClientMetrics, name: lag}", "client-metrics/lag", None),
        ("{address: client-metrics/lag}", "client-metrics/lag", None),
        ("{kind: Topic, name: Orders, virtualCluster: emea}", "vc/emea/topic/Orders", None),
        ("{kind: VirtualCluster, name: emea}", "vc/emea", None),
        ("{kind: TopicLink, name: a.b, virtualCluster: emea}", "vc/emea/link/a.b", None),
        ("{kind: ConsumerGroup, name: g, virtualCluster: emea}", "vc/emea/group/g", None),
        ("{address: 'vc/emea/user/User:a'}", "vc/emea/user/User:a", None),
        ("{address: vc/emea/topic/Orders, topicId: abc}", "vc/emea/topic/Orders", "abc"),
        ("{address: quota/virtual-cluster=emea}", "quota/virtual-cluster=emea", None),
        (
            "{address: 'vc/*/acl/User:a/Allow/Read/topic/literal/t@*'}",
            "vc/*/acl/User:a/Allow/Read/topic/literal/t@*",
            None,
        ),
    ],
)
def test_a_tombstone_names_an_address(
    tmp_path: Path, target: str, address: str, topic_id: str | None
) -> None:
    (built,) = desired(tmp_path, tombstone(target)).tombstones
    assert (built.name, built.address, built.topic_id) == ("drop", address, topic_id)
    assert built.reason == "no longer needed"


def test_every_address_can_be_buried(tmp_path: Path) -> None:
    """What a plan shows as an address, a Tombstone takes."""
    principals = '["User:a b", "User:CN=x,O=y", "User:ü/ä@%"]'
    declared = desired(
        tmp_path / "declared",
        topic(),
        acl(
            f"principals: {principals}\nhost: '::1'\npermission: Allow\n"
            "operations: [All]\nresource: {type: user, name: 'User:a'}"
        ),
        quota('{user: "x/y", clientId: "<b>"}', "{request_percentage: 1}"),
    )
    addresses = [
        built.address
        for built in (
            *declared.of(DesiredTopic),
            *declared.of(DesiredAcl),
            *declared.of(DesiredQuota),
        )
    ]
    stones = desired(
        tmp_path / "stones",
        *(tombstone(f'{{address: "{address}"}}') for address in addresses),
    )
    assert {stone.address for stone in stones.tombstones} == set(addresses)
    assert len(addresses) == 5


def test_the_scope_and_the_settings_are_passed_on(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": topic()})
    state = build_desired(
        load(tmp_path),
        project=Project(name="p", uid="u"),
        whole=False,
        targets=frozenset({"topic/orders"}),
        excludes=frozenset({"topic/x"}),
        safety=Safety(max_deletes=1, allow_deletes={"Topic": 3}),
        principal="User:me",
        allow_configs=(),
    )
    assert state.project.identity == "u"
    assert not state.scope.whole
    assert state.scope.targets == {"topic/orders"}
    assert state.scope.excludes == {"topic/x"}
    assert state.safety.allow_deletes == {"Topic": 3}
    assert state.principal == "User:me"


def test_no_documents_are_no_error_here(tmp_path: Path) -> None:
    """The planner refuses an empty desired state of a whole project."""
    state = build(replace(load(tmp_path), findings=()))
    assert (
        state.of(DesiredTopic)
        == state.of(DesiredAcl)
        == state.of(DesiredQuota)
        == state.tombstones
        == ()
    )
    assert state.digest.startswith("sha256:")
