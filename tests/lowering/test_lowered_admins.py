"""Administrators of virtual clusters, whose rights brokers can't check."""

import pytest
from lowering import scenario
from lowering.scenario import (
    ADMIN,
    ADMINS,
    ANALYTICS,
    PREFIXED,
    READ,
    SALES,
    STREAM,
    C,
    T,
    acl,
    add,
    create_topic,
    quota,
)
from msgspec.structs import replace

from kgitops.lowering.admins import Administrator
from kgitops.model import requests as req
from kgitops.model.resources.acls import AclBinding, Operation, PermissionType
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import EntityType, LocalName

KEY = "producer_byte_rate"


def refusal(request: req.Request, *rights: AclBinding, principal: str = ADMIN) -> str | None:
    """An administrator with AlterVirtualCluster on emea.sales, and these rights."""
    brokers = scenario.after_commit_1()
    state = brokers.logical
    for right in rights:
        brokers.ask(req.CreateAclRequest(binding=right))
        state = brokers.logical
    return Administrator(state, principal).refusal(request)


def right(operation: Operation, name: str, **more: object) -> AclBinding:
    return acl("kafka-cluster", ADMIN, operation, C, name, **more)


def into(name: str, request: str) -> req.Request:
    return {
        "create": req.CreateVirtualClusterRequest(virtual_cluster=name),
        "delete": req.DeleteVirtualClusterRequest(virtual_cluster=name),
        "member": add(name, EntityType.USER, "User:x"),
        "group": req.DeleteGroupRequest(virtual_cluster=name, group="g"),
        "topic": create_topic(name, "t"),
        "acl": req.CreateAclRequest(binding=acl(name, "User:x", READ, T, "t")),
        "admin": req.CreateAclRequest(binding=right(Operation.ALTER, name)),
        "quota": quota(1, KEY, vc=name, user="x"),
    }[request]


NEEDED = {
    "create": Operation.CREATE_VIRTUAL_CLUSTER,
    "delete": Operation.DELETE_VIRTUAL_CLUSTER,
    "member": Operation.ALTER_VIRTUAL_CLUSTER,
    "group": Operation.ALTER_VIRTUAL_CLUSTER,
    "topic": Operation.CREATE,
    "acl": Operation.ALTER,
    "admin": Operation.ALTER,
    "quota": Operation.ALTER_CONFIGS,
}


@pytest.mark.parametrize("request_name", NEEDED)
def test_each_request_takes_its_right_on_its_virtual_cluster(request_name: str) -> None:
    """VC-146, VC-147: in one's own virtual cluster, or those of one's prefix, and in no other."""
    needed = NEEDED[request_name]
    here, there = into(ANALYTICS, request_name), into("ana.other", request_name)
    assert f"has no {needed} on the virtual cluster analytics" in (refusal(here) or "")
    assert refusal(here, right(needed, ANALYTICS)) is None
    assert refusal(there, right(needed, ANALYTICS)) is not None
    assert refusal(there, right(needed, "ana", pattern=PREFIXED)) is None
    denied = right(needed, ANALYTICS, permission=PermissionType.DENY)
    assert refusal(here, right(needed, "ana", pattern=PREFIXED), denied) is not None


def test_scopes_of_many_virtual_clusters_take_rights_on_all_of_them() -> None:
    """VC-147: a binding of a prefix or of every virtual cluster needs a right that covers it."""
    wide = req.CreateAclRequest(binding=acl("ana", "User:x", READ, T, "t", scope=PREFIXED))
    every = req.CreateAclRequest(binding=acl("*", "User:x", READ, T, "t"))
    prefix = right(Operation.ALTER, "an", pattern=PREFIXED)
    assert refusal(wide, right(Operation.ALTER, ANALYTICS)) is not None
    assert refusal(wide, prefix) is None
    assert refusal(every, prefix) is not None
    assert refusal(every, right(Operation.ALTER, "*")) is None


def test_nobody_raises_the_cap_of_an_own_virtual_cluster() -> None:
    """VC-214: caps are the physical cluster's."""
    configs = right(Operation.ALTER_CONFIGS, SALES)
    assert refusal(quota(1, KEY, vc=SALES, user="x"), configs) is None
    for cap in (quota(1, KEY, vc=SALES), quota(1, KEY, vc=None)):
        assert "has no AlterConfigs on kafka-cluster" in (refusal(cap, configs) or "")


def test_topics_of_others_are_not_linked_to() -> None:
    """VC-040: only of a virtual cluster that has the topic and that one administers, or by rights
    on the topic itself; a topic that is only just being made belongs to where it is made."""
    own = add(SALES, EntityType.TOPIC, "n", topic=STREAM)
    foreign = add(SALES, EntityType.TOPIC, "n", target=LocalName(ANALYTICS, "Reports"))
    to_be = add(SALES, EntityType.TOPIC, "n", target=LocalName(ANALYTICS, "new"))
    unlinked = add(SALES, EntityType.TOPIC, "n", topic="global")
    assert refusal(own) is None
    assert "has no Alter on the topic 0000" in (refusal(foreign) or "")
    assert "on the virtual cluster analytics" in (refusal(to_be) or "")
    for request in (foreign, to_be):
        assert refusal(request, right(Operation.ALTER, ANALYTICS)) is None
    assert "has no Alter on the topic global" in (refusal(unlinked) or "")
    alter = acl("kafka-cluster", ADMIN, Operation.ALTER, T, "glo", pattern=PREFIXED)
    assert refusal(unlinked, alter) is None
    for more in (
        replace(alter, resource_name="glob", permission_type=PermissionType.DENY),
        replace(alter, operation=Operation.DESCRIBE, permission_type=PermissionType.DENY),
    ):
        assert "the topic global" in (refusal(unlinked, alter, more) or "")
    for lacks in (
        replace(alter, resource_name="x"),
        replace(alter, principal="User:x"),
        replace(alter, operation=Operation.DESCRIBE),
        replace(alter, host="10.0.0.1"),
        replace(alter, virtual_cluster=ANALYTICS),
    ):
        assert "has no Alter on the topic global" in (refusal(unlinked, lacks) or "")


def test_the_topic_of_an_own_virtual_cluster_is_not_deleted_without_a_right_on_it() -> None:
    """VC-146, VC-172: others may have links to it; without a link it belongs to no tenant."""
    request = req.DeleteTopicRequest(topic="u.t", topic_id="i", local=LocalName(SALES, "t"))
    delete = acl("kafka-cluster", ADMIN, Operation.DELETE, T, "u.t")
    assert "has no Delete on the topic u.t" in (refusal(request) or "")
    assert refusal(request, delete) is None
    assert refusal(replace(request, local=None)) is None


@pytest.mark.parametrize("iterations", [4096, None])
def test_only_the_credentials_of_members_are_an_administrators(iterations: int | None) -> None:
    """VC-160c: names of users are the whole cluster's."""
    sets = {
        user: req.AlterUserScramCredentialsRequest(
            user=user, mechanism=ScramMechanism.SHA_512, iterations=iterations
        )
        for user in ("sales-app", "ana-reader", "nobody")
    }
    alter = right(Operation.ALTER, SALES)
    assert refusal(sets["sales-app"], alter) is None
    assert "has no Alter on the virtual cluster emea.sales" in (refusal(sets["sales-app"]) or "")
    assert "on the virtual cluster analytics" in (refusal(sets["ana-reader"], alter) or "")
    assert "has no Alter on kafka-cluster" in (refusal(sets["nobody"], alter) or "")


def test_a_member_is_not_taken_from_another_virtual_cluster() -> None:
    """VC-086: it needs the right to alter both."""
    moved = add(SALES, EntityType.USER, "User:ana-reader", moved_from=ANALYTICS)
    assert "on the virtual cluster analytics" in (refusal(moved) or "")


def test_kafka_cluster_is_all_virtual_clusters() -> None:
    """VC-101: the same operation, and no other; a right for one host only does not count."""
    request = into(ANALYTICS, "member")
    here = right(Operation.ALTER, "kafka-cluster")
    assert refusal(request, here) is None
    assert refusal(request, replace(here, principal="User:*")) is None
    assert refusal(request, replace(here, operation=Operation.DESCRIBE_CONFIGS)) is not None
    assert refusal(request, replace(here, host="10.0.0.1")) is not None
    caps = replace(here, operation=Operation.ALTER_CONFIGS)
    assert refusal(quota(1, KEY, vc=SALES), caps) is None


def test_nobody_else_is_held_to_rights_but_by_a_deny() -> None:
    """VC-146: principals without rights on virtual clusters, super users, global requests."""
    request = into(ANALYTICS, "member")
    root = "User:root"
    assert refusal(request, principal=root) is None
    monitors = replace(right(Operation.DESCRIBE, "kafka-cluster"), principal=root)
    assert refusal(request, monitors, principal=root) is None
    everybody = replace(right(Operation.DESCRIBE, ANALYTICS), principal="User:*")
    assert refusal(request, everybody, principal=root) is None
    denied = replace(everybody, permission_type=PermissionType.DENY)
    assert refusal(request, denied, principal=root) is None
    for operation in (Operation.ALTER, Operation.ALTER_VIRTUAL_CLUSTER, Operation.ALL):
        assert refusal(request, replace(denied, operation=operation), principal=root) is not None
    assert (
        refusal(req.CreateAclRequest(binding=acl("kafka-cluster", "User:x", READ, T, "t"))) is None
    )
    brokers = scenario.after_commit_1()
    assert ADMINS in brokers.logical.acls
    assert Administrator(brokers.logical, ADMIN, {ADMIN}).refusal(request) is None
