"""A principal that may only read can plan; what it lacks is named, or said to be unknown."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders import a_topic
from cluster_contract.contract import await_state, creation, done, send

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.cluster.port import Cluster
from kgitops.cluster.registry import owner_record
from kgitops.lowering.records import link_record, virtual_cluster_record
from kgitops.model.errors import UnreachableError
from kgitops.model.json.declared import last_applied
from kgitops.model.registry import Owner
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink
from kgitops.sandbox.sandbox import Sandbox

ALICE = {"sasl.username": "alice", "sasl.password": "alice-secret"}


def right(kind: ResourceType, name: str, operation: Operation, **more: str) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=PatternType(more.get("pattern", "literal")),
        principal="User:alice",
        host="*",
        operation=operation,
        permission_type=PermissionType(more.get("permission", "Allow")),
    )


SEE_CLUSTER = right(ResourceType.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE)
CLUSTER_CONFIGS = right(ResourceType.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE_CONFIGS)
SEE_TOPICS = right(ResourceType.TOPIC, "*", Operation.DESCRIBE)
TOPIC_CONFIGS = right(ResourceType.TOPIC, "*", Operation.DESCRIBE_CONFIGS)
READ_REGISTRY = right(ResourceType.TOPIC, "__kgitops", Operation.READ)
SEE_GROUPS = right(ResourceType.GROUP, "*", Operation.DESCRIBE)
READ_ONLY = (SEE_CLUSTER, CLUSTER_CONFIGS, SEE_TOPICS, TOPIC_CONFIGS, READ_REGISTRY, SEE_GROUPS)


@pytest.fixture(scope="module")
def sandbox(own_kafka) -> Sandbox:
    """One broker that lets nobody do anything without an ACL."""
    return own_kafka(sasl=True)


@pytest.fixture(scope="module")
def admin(sandbox: Sandbox) -> Iterator[KafkaCluster]:
    """The administrator, and a managed topic with a registry that knows it."""
    cluster = boot(sandbox.servers, sandbox.configs, Path())
    for name in ("orders", "other"):
        done(cluster, creation(name, ((1,),)), lambda state, name=name: name in state.topics)
    owner = Owner(project="uid", topic_id="t", last_applied=last_applied(a_topic("orders")))
    cluster.registry.append([("lock/a", {"schema_version": 1})])
    cluster.registry.fence()
    cluster.registry.append([owner_record("topic/orders", owner)])
    yield cluster
    cluster.close()


@contextmanager
def alice(sandbox: Sandbox, admin: Cluster, *rights: AclBinding) -> Iterator[Cluster]:
    """Someone with just these rights."""
    state = admin.read_state()
    for binding in state.acls - {*rights}:
        assert send(admin, DeleteAclRequest(binding=binding)).ok
    for binding in {*rights} - state.acls:
        assert send(admin, CreateAclRequest(binding=binding)).ok
    await_state(admin, lambda state: state.acls == {*rights})
    cluster = connect(
        f"kafka://{sandbox.servers}", configs={**sandbox.configs, **ALICE}, base=Path()
    )
    try:
        yield cluster
    finally:
        cluster.close()


def test_a_read_only_principal_reads_all_that_the_administrator_does(
    sandbox: Sandbox, admin: Cluster
):
    """design.md: Describe and DescribeConfigs on cluster and topics, Read on the registry."""
    with alice(sandbox, admin, *READ_ONLY) as cluster:
        seen, whole = cluster.read_state(), admin.read_state()
        assert (seen.topics, seen.registry) == (whole.topics, whole.registry)
        assert (seen.acls, seen.broker_defaults) == (whole.acls, whole.broker_defaults)
        assert seen.not_checked == ()
        names = frozenset(seen.topics)
        assert cluster.read_usage(names) == admin.read_usage(names)
        assert cluster.read_usage(names).not_checked == ()


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (SEE_CLUSTER, "Describe on the cluster"),
        (CLUSTER_CONFIGS, "DescribeConfigs on the cluster"),
        (TOPIC_CONFIGS, "the configs of the topic 'orders'.*DescribeConfigs on all topics"),
        (READ_REGISTRY, "Read on __kgitops"),
    ],
    ids=["cluster", "cluster-configs", "topic-configs", "registry"],
)
def test_a_missing_right_stops_the_reading_and_is_named(
    sandbox: Sandbox, admin: Cluster, missing: AclBinding, told: str
):
    """design.md: a missing right needed for the diff or ownership is exit 8."""
    rights = [binding for binding in READ_ONLY if binding != missing]
    with (
        alice(sandbox, admin, *rights) as cluster,
        pytest.raises(UnreachableError, match=told),
    ):
        cluster.read_state()


@pytest.mark.parametrize(
    ("lacking", "grant"),
    [
        (
            {SEE_CLUSTER, CLUSTER_CONFIGS, TOPIC_CONFIGS},
            "Describe on the cluster, DescribeConfigs on the cluster and DescribeConfigs on all "
            "topics",
        ),
        (
            {SEE_CLUSTER, CLUSTER_CONFIGS, READ_REGISTRY},
            "Describe on the cluster, DescribeConfigs on the cluster and Read on __kgitops",
        ),
    ],
    ids=["topics", "registry"],
)
def test_one_sentence_names_the_principal_and_every_right_that_it_lacks(
    sandbox: Sandbox, admin: Cluster, lacking: set[AclBinding], grant: str
):
    with (
        alice(sandbox, admin, *{*READ_ONLY} - lacking) as cluster,
        pytest.raises(UnreachableError) as refused,
    ):
        cluster.read_state()
    problem, advice = str(refused.value).split("; ")
    assert problem.startswith("the cluster does not let User:alice read ")
    assert advice == f"grant it {grant}, as docs/reference/rights.md shows"


def test_a_managed_topic_that_may_not_be_seen_does_not_count_as_gone(
    sandbox: Sandbox, admin: Cluster
):
    """A list of all topics leaves it out without a word; another's such topic is just not there."""
    registry = right(ResourceType.TOPIC, "__kgitops", Operation.DESCRIBE)
    rights = {*READ_ONLY, registry} - {SEE_TOPICS, TOPIC_CONFIGS}
    others = [
        right(ResourceType.TOPIC, "oth", operation, pattern="prefixed")
        for operation in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
    ]
    configs = right(ResourceType.TOPIC, "__kgitops", Operation.DESCRIBE_CONFIGS)
    with alice(sandbox, admin, *rights, *others, configs) as cluster:
        with pytest.raises(UnreachableError, match=r"'orders'.*Describe on all topics"):
            cluster.read_state()
        with pytest.raises(UnreachableError, match=r"'orders'.*Describe on all topics"):
            cluster.read_state(frozenset({"orders"}))
        assert [*cluster.read_state(frozenset({"other"})).topics] == ["other"]
    hidden = right(ResourceType.TOPIC, "other", Operation.DESCRIBE, permission="Deny")
    with alice(sandbox, admin, *READ_ONLY, hidden) as cluster:
        assert [*cluster.read_state().topics] == ["orders"]


def test_a_linked_topic_that_may_not_be_seen_does_not_count_as_gone(
    sandbox: Sandbox, admin: KafkaCluster
):
    """Its physical name is in the records of links only, and it would be created again."""
    link = TopicLink(
        name="local", topic="other", topic_id=admin.read_state().topics["other"].topic_id
    )
    records = [virtual_cluster_record("sales", LoweringOptions()), link_record("sales", link)]
    hidden = right(ResourceType.TOPIC, "other", Operation.DESCRIBE, permission="Deny")
    admin.registry.append(records)
    with alice(sandbox, admin, *READ_ONLY) as cluster:
        assert "other" in cluster.read_state().topics
    with (
        alice(sandbox, admin, *READ_ONLY, hidden) as cluster,
        pytest.raises(UnreachableError, match=r"'other'.*Describe on all topics"),
    ):
        cluster.read_state()
    admin.registry.append([(key, None) for key, _ in records])
