"""Groups and their offsets, as consumers in virtual clusters and outside use them."""

import pytest
from cluster.clusters import ROOT, a_grant, codes, topic_grant
from cluster.embedded.bound.tenancies import (
    HR,
    PHYSICAL,
    SALES,
    SHARED,
    change,
    connect,
    link,
    on_cluster,
    root,
    scoped,
    tenant,
    two_tenants,
)

from kgitops.cluster.embedded.client.groups.groups import CoordinatorType, GroupState
from kgitops.cluster.embedded.client.virtual_clusters import NewVirtualCluster
from kgitops.model.requests import DeleteVirtualClusterRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType
from kgitops.model.results import ErrorCode

DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NO_GROUP = ErrorCode.GROUP_ID_NOT_FOUND
FIRST = ("orders", 0)


def committed(cluster, group: str):
    """What the store has under a physical id."""
    return cluster.read_group_offsets(frozenset({group})).get(group)


def group_grant(operation: Operation, name: str, principal: str = "User:a"):
    """A right on a group."""
    return a_grant(operation, ResourceType.GROUP, name, principal)


def test_the_same_group_in_two_virtual_clusters():
    """VC-110, VC-111, VC-045, VC-249: apart, and by physical group and topic."""
    cluster = two_tenants()
    a, b = connect(cluster), connect(cluster, "User:b")
    assert a.offset_commit("g", {FIRST: 3})[FIRST].ok
    assert b.offset_commit("g", {FIRST: 8})[FIRST].ok
    assert a.offset_fetch("g", [FIRST]).offsets == {FIRST: 3}
    assert b.offset_fetch("g", [FIRST]).offsets == {FIRST: 8}
    assert committed(cluster, "sales:g") == {(PHYSICAL[SALES], 0): 3}
    assert committed(cluster, "hr:g") == {(PHYSICAL[HR], 0): 8}
    assert committed(cluster, "g") is None


def test_two_names_of_a_topic_have_the_same_offsets():
    """VC-045, VC-023, VC-039: also once the link has another name."""
    cluster = two_tenants()
    link(cluster, SALES, "a.orders", PHYSICAL[SALES])
    a = connect(cluster)
    assert a.offset_commit("g", {FIRST: 3})[FIRST].ok
    assert a.offset_fetch("g", [("a.orders", 0)]).offsets == {("a.orders", 0): 3}
    assert a.offset_fetch("g").offsets == {("a.orders", 0): 3}
    change(cluster, SALES, EntityType.TOPIC, "a.orders", ChangeType.REMOVE)
    assert a.offset_fetch("g").offsets == {FIRST: 3}


def test_what_a_commit_is_refused_for():
    """VC-150, VC-029: each partition on its own."""
    cluster = two_tenants(
        scoped(group_grant(Operation.READ, "g")),
        scoped(topic_grant(Operation.READ)),
        scoped(topic_grant(Operation.READ, "gone")),
        scoped(topic_grant(Operation.DESCRIBE, "prices")),
        members_may=False,
    )
    a = connect(cluster)
    asked = {FIRST: 1, ("orders", 9): 1, ("gone", 0): 1, ("prices", 0): 1, (SHARED, 0): 1}
    assert codes(a.offset_commit("g", asked)) == {
        FIRST: ErrorCode.NONE,
        ("orders", 9): UNKNOWN,
        ("gone", 0): UNKNOWN,
        ("prices", 0): TOPIC_DENIED,
        (SHARED, 0): TOPIC_DENIED,
    }
    assert codes(a.offset_commit("other", {FIRST: 1})) == {FIRST: DENIED}
    assert committed(cluster, "sales:g") == {(PHYSICAL[SALES], 0): 1}


def test_what_a_fetch_shows():
    """VC-150: of what may be described."""
    cluster = two_tenants(
        scoped(group_grant(Operation.DESCRIBE, "g", "User:c")),
        scoped(topic_grant(Operation.DESCRIBE, "orders", "User:c")),
        scoped(topic_grant(Operation.DESCRIBE, "gone", "User:c")),
    )
    change(cluster, SALES, EntityType.USER, "User:c")
    connect(cluster).offset_commit("g", {FIRST: 2, ("prices", 0): 5})
    c = connect(cluster, "User:c")
    asked = [FIRST, ("orders", 1), ("prices", 0), ("gone", 0), ("never", 0)]
    fetched = c.offset_fetch("g", asked)
    assert fetched.offsets == {FIRST: 2}
    assert codes(fetched.refused) == {
        ("prices", 0): TOPIC_DENIED,
        ("gone", 0): UNKNOWN,
        ("never", 0): TOPIC_DENIED,
    }
    assert c.offset_fetch("g").offsets == {FIRST: 2}
    assert c.offset_fetch("other").result.code is DENIED


def test_only_topics_of_the_namespace_are_fetched():
    """VC-029: what is no longer linked is not shown."""
    cluster = two_tenants()
    a = connect(cluster)
    assert a.offset_commit("g", {FIRST: 3, ("prices", 0): 4})[FIRST].ok
    assert a.delete_topics(["orders"])["orders"].ok
    assert a.offset_fetch("g").offsets == {("prices", 0): 4}
    assert committed(cluster, "sales:g") == {(PHYSICAL[SALES], 0): 3, (SHARED, 0): 4}


def test_offsets_are_forgotten_one_by_one():
    """VC-249."""
    cluster = two_tenants()
    a = connect(cluster)
    a.offset_commit("g", {FIRST: 3, ("prices", 0): 4})
    result = a.offset_delete("g", [FIRST, ("orders", 1), ("never", 0)])
    assert codes(result) == {
        FIRST: ErrorCode.NONE,
        ("orders", 1): ErrorCode.NONE,
        ("never", 0): UNKNOWN,
    }
    assert a.offset_fetch("g").offsets == {("prices", 0): 4}
    assert codes(a.offset_delete("never", [FIRST])) == {FIRST: NO_GROUP}
    assert a.list_groups() == ("g",)


def test_a_used_group_is_in_its_virtual_cluster():
    """VC-113, VC-116: listed and described without being added, and in the way of no deletion."""
    cluster = two_tenants()
    a = connect(cluster)
    a.offset_commit("used", {FIRST: 1})
    change(cluster, SALES, EntityType.GROUP, "added")
    connect(cluster, "User:b").offset_commit("theirs", {FIRST: 1})
    root(cluster).offset_commit("global", {(SHARED, 0): 1})
    assert a.list_groups() == ("added", "used")
    assert connect(cluster, "User:b").list_groups() == ("theirs",)
    assert set(codes(a.describe_groups(["added", "used"])).values()) == {ErrorCode.NONE}
    assert root(cluster).list_groups() == ("global", "hr:theirs", "sales:used")
    described = root(cluster).describe_virtual_clusters([SALES])[SALES].description
    assert described is not None
    assert described.group_links == ("added", "used")
    assert tenant(cluster).groups.keys() == {"added"}


def test_a_used_group_keeps_no_virtual_cluster_from_being_deleted():
    """VC-113, VC-245."""
    cluster = two_tenants()
    connect(cluster, "User:b").offset_commit("g", {FIRST: 1})
    change(cluster, HR, EntityType.USER, "User:b", ChangeType.REMOVE)
    for name in ("orders", "prices"):
        change(cluster, HR, EntityType.TOPIC, name, ChangeType.REMOVE)
    request = DeleteVirtualClusterRequest(virtual_cluster=HR)
    [result] = cluster.execute([request], validate_only=False, principal=ROOT)
    assert result.ok


def test_who_sees_which_groups():
    """VC-116, VC-159: by Describe on the virtual cluster, or on the group."""
    rights = [scoped(group_grant(Operation.READ, "mine", "User:c"))]
    cluster = two_tenants(*rights, on_cluster(Operation.DESCRIBE, SALES, "User:d"))
    change(cluster, SALES, EntityType.USER, "User:c")
    change(cluster, SALES, EntityType.USER, "User:d")
    for group in ("mine", "other"):
        connect(cluster).offset_commit(group, {FIRST: 1})
    assert connect(cluster, "User:c").list_groups() == ("mine",)
    assert connect(cluster, "User:d").list_groups() == ("mine", "other")
    assert codes(connect(cluster, "User:c").describe_groups(["mine", "other", "never"])) == {
        "mine": ErrorCode.NONE,
        "other": DENIED,
        "never": DENIED,
    }


def test_describing_groups():
    """VC-111, VC-116, VC-249: a physical id is not a name of anything here."""
    cluster = two_tenants()
    a = connect(cluster)
    for group in ("idle", "busy"):
        a.offset_commit(group, {FIRST: 1})
    cluster.faults.busy_groups = frozenset({"sales:busy"})
    described = a.describe_groups(["idle", "busy", "sales:idle", "hr:g"])
    assert {group: item.state for group, item in described.items()} == {
        "idle": GroupState.EMPTY,
        "busy": GroupState.STABLE,
        "sales:idle": None,
        "hr:g": None,
    }
    assert described["sales:idle"].result.code is NO_GROUP
    assert root(cluster).describe_groups(["sales:idle"])["sales:idle"].state is GroupState.EMPTY


def test_deleting_groups():
    """VC-116, VC-249, VC-119: an association that somebody made stays."""
    cluster = two_tenants()
    a = connect(cluster)
    change(cluster, SALES, EntityType.GROUP, "idle")
    for group in ("idle", "busy"):
        a.offset_commit(group, {FIRST: 1})
    connect(cluster, "User:b").offset_commit("g", {FIRST: 1})
    cluster.faults.busy_groups = frozenset({"sales:busy"})
    assert codes(a.delete_groups(["idle", "busy", "hr:g", "g"])) == {
        "idle": ErrorCode.NONE,
        "busy": ErrorCode.NON_EMPTY_GROUP,
        "hr:g": NO_GROUP,
        "g": NO_GROUP,
    }
    assert committed(cluster, "sales:idle") is None
    assert committed(cluster, "hr:g") == {(PHYSICAL[HR], 0): 1}
    assert tenant(cluster).groups.keys() == {"idle"}
    nobody = connect(cluster, "User:c", "app").delete_groups(["busy", "never"])
    assert codes(nobody) == {"busy": DENIED, "never": DENIED}
    assert codes(connect(cluster, "User:c", "app").offset_delete("busy", [FIRST])) == {
        FIRST: DENIED
    }


def test_a_group_outside_is_not_taken_for_one_inside():
    """VC-117: it was there before the virtual cluster, or is refused."""
    cluster = two_tenants()
    outside = root(cluster)
    assert outside.offset_commit("apac:g", {(SHARED, 0): 9})[SHARED, 0].ok
    refused = outside.offset_commit("sales:new", {(SHARED, 0): 9})[SHARED, 0]
    assert refused.code is ErrorCode.INVALID_REQUEST
    assert "GROUP_NAME_COLLISION" in (refused.message or "")
    assert committed(cluster, "sales:new") is None


def test_a_group_inside_is_not_one_that_was_outside_before():
    """VC-117: nothing is read of it, nothing written and nothing deleted."""
    cluster = two_tenants()
    outside = root(cluster)
    outside.offset_commit("apac:g", {(SHARED, 0): 9})
    assert outside.create_virtual_clusters([NewVirtualCluster(name="apac")])["apac"].ok
    link(cluster, "apac", "prices", SHARED)
    change(cluster, "apac", EntityType.USER, "User:z")
    rights = [
        scoped(a_grant(Operation.ALL, kind, "*", "User:z"), "apac")
        for kind in (ResourceType.TOPIC, ResourceType.GROUP)
    ]
    outside.create_acls(rights)
    z = connect(cluster, "User:z")
    key = ("prices", 0)
    assert z.offset_fetch("g").offsets == {}
    refused = z.offset_commit("g", {key: 1})[key]
    assert refused.code is ErrorCode.INVALID_REQUEST
    assert "GROUP_NAME_COLLISION" in (refused.message or "")
    assert codes(z.offset_delete("g", [key])) == {key: NO_GROUP}
    assert codes(z.delete_groups(["g"])) == {"g": NO_GROUP}
    assert z.list_groups() == ()
    assert codes(z.describe_groups(["g"])) == {"g": NO_GROUP}
    assert committed(cluster, "apac:g") == {(SHARED, 0): 9}


@pytest.mark.parametrize("key_type", CoordinatorType)
def test_coordinators_are_found_by_local_ids(key_type: CoordinatorType):
    """VC-249, VC-116: the same one as for the physical id."""
    cluster = two_tenants()
    keys = [f"g{number}" for number in range(20)]
    found = connect(cluster).find_coordinator(keys, key_type)
    physical = root(cluster).find_coordinator([f"sales:{key}" for key in keys], key_type)
    assert list(found) == keys
    assert [item.node_id for item in found.values()] == [item.node_id for item in physical.values()]
    assert len({item.node_id for item in found.values()}) > 1
    denied = connect(cluster, "User:c", "app").find_coordinator(["g"], key_type)["g"]
    assert denied.result.code in (DENIED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert denied.node_id == -1
    cluster.fence(*(broker.id for broker in cluster.read_state().brokers))
    nobody = connect(cluster).find_coordinator(["g"], key_type)["g"]
    assert nobody.result.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_who_is_in_no_virtual_cluster_uses_groups_as_ever():
    """VC-088."""
    cluster = two_tenants(
        group_grant(Operation.ALL, "g", "User:x"), topic_grant(Operation.READ, SHARED, "User:x")
    )
    x = connect(cluster, "User:x")
    asked = {(SHARED, 0): 4, ("prices", 0): 1, (PHYSICAL[SALES], 0): 1}
    assert codes(x.offset_commit("g", asked)) == {
        (SHARED, 0): ErrorCode.NONE,
        ("prices", 0): TOPIC_DENIED,
        (PHYSICAL[SALES], 0): TOPIC_DENIED,
    }
    assert x.offset_fetch("g").offsets == {(SHARED, 0): 4}
    assert x.list_groups() == ("g",)
    assert codes(x.offset_commit("sales:g", {(SHARED, 0): 1})) == {(SHARED, 0): DENIED}
    assert codes(x.delete_groups(["g"])) == {"g": ErrorCode.NONE}
