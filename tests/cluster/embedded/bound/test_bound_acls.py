"""ACLs as members and administrators of virtual clusters make, list and delete them."""

import pytest
from cluster.clusters import BOTH, a_grant, cluster_grant, topic_grant
from cluster.embedded.bound.tenancies import (
    HR,
    PHYSICAL,
    SALES,
    connect,
    on_cluster,
    scoped,
    two_tenants,
)
from msgspec.structs import replace

from kgitops.cluster.embedded.controls.acl_filter import AclFilter, PatternFilter, exact_filter
from kgitops.cluster.embedded.controls.acls import AclAction
from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.results import ErrorCode

DENIED, DONE = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE
ADMIN = on_cluster(Operation.ALTER)
OF_PREFIX = on_cluster(Operation.ALTER, "sa", prefixed=True)
GRANT = topic_grant(Operation.READ, "orders", "User:c")
EVERYTHING = AclFilter(pattern=PatternFilter.ANY)


def created(cluster, principal: str, binding: AclBinding) -> ErrorCode:
    """What is answered to its creation."""
    return connect(cluster, principal).create_acls([binding])[0].code


@pytest.mark.parametrize("compat", BOTH)
def test_a_member_means_its_own_virtual_cluster(compat: Compat):
    """VC-143, VC-147, VC-249: its names are local, its scope is where it is."""
    cluster = two_tenants(ADMIN, compat=compat, members_may=False)
    assert created(cluster, "User:a", GRANT) is DONE
    acls = cluster.read_state().acls
    assert scoped(GRANT) in acls
    assert GRANT not in acls


@pytest.mark.parametrize("compat", BOTH)
@pytest.mark.parametrize(
    ("right", "binding", "code"),
    [
        (ADMIN, scoped(GRANT), DONE),
        (ADMIN, scoped(GRANT, HR), DENIED),
        (ADMIN, GRANT, DENIED),
        (ADMIN, scoped(GRANT, "sa", prefixed=True), DENIED),
        (ADMIN, scoped(GRANT, "*"), DENIED),
        (ADMIN, on_cluster(Operation.DESCRIBE, SALES, "User:c"), DONE),
        (ADMIN, on_cluster(Operation.DESCRIBE, HR, "User:c"), DENIED),
        (ADMIN, on_cluster(Operation.DESCRIBE, "sa", "User:c", prefixed=True), DENIED),
        (ADMIN, cluster_grant(Operation.ALTER, "User:admin"), DENIED),
        (OF_PREFIX, scoped(GRANT, "sa", prefixed=True), DONE),
        (OF_PREFIX, scoped(GRANT, "sales.", prefixed=True), DONE),
        (OF_PREFIX, scoped(GRANT, "s", prefixed=True), DENIED),
        (OF_PREFIX, scoped(GRANT, HR), DENIED),
        (on_cluster(Operation.ALTER, "*"), scoped(GRANT, "*"), DONE),
        (on_cluster(Operation.ALTER, "*"), GRANT, DENIED),
        (on_cluster(Operation.ALTER_VIRTUAL_CLUSTER), scoped(GRANT), DENIED),
        (on_cluster(Operation.CREATE), scoped(GRANT), DENIED),
        (on_cluster(Operation.ALL, CLUSTER_NAME), scoped(GRANT, HR), DONE),
        (on_cluster(Operation.ALL, CLUSTER_NAME), GRANT, DONE),
    ],
)
def test_what_an_administrator_may_create(compat: Compat, right, binding, code: ErrorCode):
    """VC-106, VC-146, VC-147: one that is in no virtual cluster itself."""
    cluster = two_tenants(replace(right, principal="User:admin"), compat=compat)
    assert created(cluster, "User:admin", binding) is code
    assert (binding in cluster.read_state().acls) is (code is DONE)


def test_without_a_right_a_member_makes_no_acls():
    """VC-147."""
    cluster = two_tenants()
    assert created(cluster, "User:a", GRANT) is DENIED
    assert created(cluster, "User:a", scoped(GRANT, HR)) is DENIED


@pytest.mark.parametrize("compat", BOTH)
def test_deleting_stays_within(compat: Compat):
    """VC-106, VC-147: a filter that says nothing of a scope reaches no further than the caller."""
    there = [scoped(GRANT, HR), GRANT, topic_grant(Operation.READ, PHYSICAL[SALES], "User:c")]
    cluster = two_tenants(ADMIN, scoped(GRANT), *there, compat=compat, members_may=False)
    a = connect(cluster)
    [deleted] = a.delete_acls([AclFilter(principal="User:c", pattern=PatternFilter.ANY)])
    assert deleted.bindings == (scoped(GRANT),)
    refused = a.delete_acls(
        [exact_filter(scoped(GRANT, HR)), replace(EVERYTHING, virtual_cluster=None)]
    )
    assert [item.result.code for item in refused] == [DENIED, DENIED]
    assert cluster.read_state().acls >= set(there)


def test_an_administrator_outside_deletes_by_naming_the_scope():
    """VC-146, VC-147."""
    admin = replace(ADMIN, principal="User:admin")
    cluster = two_tenants(admin, scoped(GRANT), scoped(GRANT, HR))
    wanted = [exact_filter(scoped(GRANT)), exact_filter(scoped(GRANT, HR)), EVERYTHING]
    results = connect(cluster, "User:admin").delete_acls(wanted)
    assert [item.result.code for item in results] == [DONE, DENIED, DENIED]
    assert scoped(GRANT, HR) in cluster.read_state().acls


def test_listing_stays_within():
    """VC-159."""
    cluster = two_tenants(
        on_cluster(Operation.DESCRIBE), scoped(GRANT), scoped(GRANT, HR), GRANT, members_may=False
    )
    a = connect(cluster)
    assert a.describe_acls(EVERYTHING).bindings == (scoped(GRANT),)
    for foreign in (HR, None):
        refused = a.describe_acls(replace(EVERYTHING, virtual_cluster=foreign))
        assert refused.result.code is DENIED
    on_itself = AclFilter(resource_type=ResourceType.CLUSTER, resource_name=SALES)
    assert a.describe_acls(on_itself).bindings == (on_cluster(Operation.DESCRIBE),)


def test_creating_is_not_listing():
    """VC-141: Alter implies Describe, and Describe does not imply Alter."""
    for right, may_create in ((Operation.ALTER, True), (Operation.DESCRIBE, False)):
        cluster = two_tenants(on_cluster(right))
        assert (created(cluster, "User:a", GRANT) is DONE) is may_create
        assert connect(cluster).describe_acls(EVERYTHING).result.ok


def test_the_call_that_was_never_shipped_needs_the_physical_cluster():
    """VC-249."""
    key = (ResourceType.TOPIC, "orders")
    request = [(key, [AclAction(binding=GRANT, is_add=True)])]
    cluster = two_tenants(ADMIN)
    assert connect(cluster).alter_acls(request)[key][0].code is DENIED
    globally = two_tenants(on_cluster(Operation.ALL, CLUSTER_NAME))
    assert connect(globally).alter_acls(request)[key][0].ok
    assert scoped(GRANT) in globally.read_state().acls


def test_a_prefix_covers_virtual_clusters_to_come():
    """VC-144."""
    future = scoped(a_grant(Operation.DESCRIBE, name="*"), "sa", prefixed=True)
    cluster = two_tenants(future, members_may=False)
    assert [topic.name for topic in connect(cluster).metadata()] == ["orders", "prices"]
    assert future.virtual_cluster_pattern_type is PatternType.PREFIXED
