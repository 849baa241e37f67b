"""Committed offsets of groups are read, copied and deleted on real brokers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster.kafka.committing import commit
from cluster.kafka.read.test_read_rights import right
from cluster.kafka.read.test_read_usage import consumer, produce
from cluster_contract.contract import await_state, binding, created, creation, done, send

from kgitops.cluster.connect import connect
from kgitops.cluster.kafka.adapter import KafkaCluster, boot
from kgitops.model import requests as req
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.acls import AclBinding, Operation, ResourceType
from kgitops.model.resources.quotas import make_entity
from kgitops.model.results import ErrorCode
from kgitops.sandbox.sandbox import Sandbox

on_kafka = pytest.mark.kafka


def copy(source: str, group: str) -> req.CopyGroupOffsetsRequest:
    """``group`` is the physical id: that is what brokers must be asked for (VC-111)."""
    virtual_cluster, _, name = group.partition(":")
    return req.CopyGroupOffsetsRequest(virtual_cluster=virtual_cluster, group=name, source=source)


def delete(group: str) -> req.DeleteGroupRequest:
    virtual_cluster, _, name = group.partition(":")
    return req.DeleteGroupRequest(virtual_cluster=virtual_cluster, group=name)


@on_kafka
def test_offsets_are_read_copied_once_and_deleted(
    kafka: Sandbox, kafka_cluster: KafkaCluster
) -> None:
    """VC-111, VC-114, VC-119: the second copy finds the group in use and leaves it as it is."""
    created(kafka_cluster, "orders")
    produce(kafka, "orders", 0, 5)
    produce(kafka, "orders", 1, 3)
    servers = {"bootstrap.servers": kafka.servers}
    source, target = "sales-etl", "emea.sales:sales-etl"
    groups = frozenset({source, target, "none"})
    commit(servers, source, {("orders", 0): 4, ("orders", 1): 2})
    before = {source: {("orders", 0): 4, ("orders", 1): 2}}
    assert kafka_cluster.read_group_offsets(groups) == before
    assert send(kafka_cluster, copy(source, target)).ok
    assert kafka_cluster.read_group_offsets(groups) == {**before, target: before[source]}
    commit(servers, source, {("orders", 0): 5})
    assert send(kafka_cluster, copy(source, target)).ok
    assert kafka_cluster.read_group_offsets(groups)[target] == before[source]
    assert send(kafka_cluster, copy("none", "emea:nobody")).ok
    assert send(kafka_cluster, delete(target)).ok
    assert kafka_cluster.read_group_offsets(groups).keys() == {source}
    assert send(kafka_cluster, delete(target)).code is ErrorCode.GROUP_ID_NOT_FOUND


@on_kafka
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_neither_written_nor_deleted(
    kafka: Sandbox, kafka_cluster: KafkaCluster, protocol: str
) -> None:
    """VC-114, VC-119: NON_EMPTY_GROUP, under both protocols."""
    created(kafka_cluster, "orders")
    produce(kafka, "orders", 0, 1)
    group, source = f"emea:{protocol}", f"source-{protocol}"
    commit({"bootstrap.servers": kafka.servers}, source, {("orders", 0): 1})
    with consumer(kafka, "orders", group, protocol):
        for request in (copy(source, group), delete(group)):
            assert send(kafka_cluster, request).code is ErrorCode.NON_EMPTY_GROUP
        assert group not in kafka_cluster.read_group_offsets(frozenset({group}))


@on_kafka
def test_offsets_of_a_topic_that_is_gone_are_left_out(
    kafka: Sandbox, kafka_cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VC-114. The reading is a fake: real brokers forget such offsets when they please."""
    created(kafka_cluster, "orders")
    read = {"gone-source": {("orders", 0): 0, ("gone", 0): 7}, "emea:gone": {}}
    monkeypatch.setattr("kgitops.cluster.kafka.write.groups.fetch_offsets", lambda *_: read)
    assert send(kafka_cluster, copy("gone-source", "emea:gone")).ok
    monkeypatch.undo()
    groups = frozenset({"emea:gone"})
    assert kafka_cluster.read_group_offsets(groups) == {"emea:gone": {("orders", 0): 0}}


@on_kafka
def test_nothing_about_a_virtual_cluster_is_ever_sent(kafka_cluster: KafkaCluster) -> None:
    """VC-230, VC-353: no native request, whatever brokers would make of its key."""
    scoped = AclBinding(
        **{
            name: getattr(binding(), name) for name in AclBinding.__slots__ if "virtual" not in name
        },
        virtual_cluster="emea",
    )
    requests: tuple[req.Request, ...] = (
        req.CreateVirtualClusterRequest(virtual_cluster="emea"),
        req.AlterVirtualClusterRequest(virtual_cluster="emea"),
        req.DeleteVirtualClusterRequest(virtual_cluster="emea"),
        req.CreateAclRequest(binding=scoped),
        req.DeleteAclRequest(binding=scoped),
        req.AlterClientQuotaRequest(
            entity=make_entity({"virtual-cluster": "emea"}), quotas={"producer_byte_rate": 1}
        ),
    )
    before = dict(kafka_cluster.wire.sent)
    for request in requests:
        with pytest.raises(ValueError, match="do not support virtual clusters"):
            kafka_cluster.execute(
                [creation("new"), request], validate_only=False, principal="User:a"
            )
    assert dict(kafka_cluster.wire.sent) == before


def test_no_request_of_the_wire_has_a_key_of_kip_1134() -> None:
    """VC-230: keys 91 to 95 are other requests on real brokers, or none."""
    import kafka.protocol.admin
    import kafka.protocol.consumer
    import kafka.protocol.metadata
    import kafka.protocol.producer

    folder = Path(boot.__code__.co_filename).parent
    sources = "".join(path.read_text() for path in folder.rglob("*.py"))
    parts = (
        kafka.protocol.admin,
        kafka.protocol.consumer,
        kafka.protocol.metadata,
        kafka.protocol.producer,
    )
    # Not of vars(): kafka-python makes a class when it is first asked for.
    named = {
        kind.API_KEY: name
        for name in set(re.findall(r"\b\w+Request\b", sources))
        for part in parts
        if (kind := getattr(part, name, None))
    }
    assert len(named) > 20
    assert max(named) < 91


@pytest.fixture(scope="module")
def secured(own_kafka) -> Sandbox:
    """One broker that lets nobody do anything without an ACL."""
    return own_kafka(sasl=True, properties={"allow.everyone.if.no.acl.found": "false"})


@pytest.fixture(scope="module")
def admin(secured: Sandbox) -> Iterator[KafkaCluster]:
    cluster = boot(secured.servers, secured.configs, Path())
    for name in ("orders", "other"):
        done(cluster, creation(name, ((1,),)), lambda state, name=name: name in state.topics)
    commit(
        {"bootstrap.servers": secured.servers, **secured.configs},
        "source",
        {("orders", 0): 0, ("other", 0): 0},
    )
    yield cluster
    cluster.close()


@contextmanager
def alice(secured: Sandbox, admin: KafkaCluster, *rights: AclBinding) -> Iterator[KafkaCluster]:
    for acl in rights:
        assert send(admin, req.CreateAclRequest(binding=acl)).ok
    await_state(admin, lambda state: state.acls == {*rights})
    login = {"sasl.username": "alice", "sasl.password": "alice-secret"}
    cluster = boot(secured.servers, {**secured.configs, **login}, Path())
    yield cluster
    cluster.close()
    for acl in rights:
        assert send(admin, req.DeleteAclRequest(binding=acl)).ok
    await_state(admin, lambda state: not state.acls)


READ_GROUPS = right(ResourceType.GROUP, "*", Operation.READ)
READ_ORDERS = right(ResourceType.TOPIC, "orders", Operation.READ)
SEE_OTHER = right(ResourceType.TOPIC, "other", Operation.DESCRIBE)


def test_who_may_not_read_a_group_is_told_so(secured: Sandbox, admin: KafkaCluster) -> None:
    """VC-114: an unreadable group is never taken for one without offsets."""
    with (
        alice(secured, admin, READ_ORDERS) as cluster,
        pytest.raises(UnreachableError, match=r"'source' has committed .*GROUP_AUTHORIZATION_FAIL"),
    ):
        cluster.read_group_offsets(frozenset({"source"}))
    with alice(secured, admin, READ_ORDERS) as cluster:
        answer = send(cluster, copy("source", "emea:denied"))
        assert answer.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_half_a_copy_is_never_made(secured: Sandbox, admin: KafkaCluster) -> None:
    """VC-114: brokers would commit for one topic, refuse the other, and it would look done."""
    groups = frozenset({"emea:half"})
    with alice(secured, admin, READ_GROUPS, READ_ORDERS, SEE_OTHER) as cluster:
        answer = send(cluster, copy("source", "emea:half"))
        assert answer.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert "other" in str(answer)
    assert admin.read_group_offsets(groups) == {}


def test_what_isolation_depends_on_is_told(secured: Sandbox, admin: KafkaCluster) -> None:
    """VC-391: in no request more; the authorizer's own configs are hidden by brokers."""
    assert admin.read_state().settings == {
        "allow.everyone.if.no.acl.found": "",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "true",
        "super.users": "",
    }
    cluster = connect(f"kafka://{secured.servers}", configs=secured.configs, base=Path())
    assert cluster.read_state().settings == admin.read_state().settings
    cluster.close()
