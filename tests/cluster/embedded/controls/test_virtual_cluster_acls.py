"""ACLs of virtual clusters: which can be made, which a filter means, and who may make them."""

import pytest
from cluster.clusters import a_cluster, a_grant, a_guarded_cluster, admin, cluster_grant
from msgspec.structs import replace
from virtual_clusters.vc_requests import A, B

from kgitops.cluster.embedded.boot import boot
from kgitops.cluster.embedded.controls.acl_filter import AclFilter
from kgitops.cluster.embedded.options import Compat, Options
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    ResourceType,
)
from kgitops.model.results import ErrorCode

OK, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
PREFIXED = PatternType.PREFIXED
READ = a_grant(Operation.READ)


def scoped(
    virtual_cluster: str = A,
    pattern: PatternType = PatternType.LITERAL,
    binding: AclBinding = READ,
) -> AclBinding:
    return replace(binding, virtual_cluster=virtual_cluster, virtual_cluster_pattern_type=pattern)


def on_cluster(
    name: str, pattern: PatternType = PatternType.LITERAL, operation: Operation = Operation.ALTER
) -> AclBinding:
    return a_grant(operation, ResourceType.CLUSTER, name, pattern_type=pattern)


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        (scoped(), OK),
        (scoped("emea.", PREFIXED), OK),
        (scoped("*"), OK),
        (scoped("kafka", PREFIXED), OK),
        (scoped(CLUSTER_NAME), OK),
        (scoped("not made yet"), INVALID),
        (scoped("not-made-yet"), OK),
        (scoped(""), INVALID),
        (scoped("", PREFIXED), INVALID),
        (scoped("*", PREFIXED), INVALID),
        (scoped("a:b"), INVALID),
        (scoped(binding=a_grant(Operation.READ, ResourceType.GROUP)), OK),
        (scoped(binding=a_grant(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)), OK),
        (scoped(binding=on_cluster(A)), INVALID),
        (scoped(binding=on_cluster(CLUSTER_NAME)), INVALID),
        (on_cluster(A), OK),
        (on_cluster(A, operation=Operation.ALTER_VIRTUAL_CLUSTER), OK),
        (on_cluster("emea.", PREFIXED), OK),
        (on_cluster("*"), OK),
        (on_cluster(CLUSTER_NAME), OK),
        (on_cluster("a:b"), INVALID),
    ],
)
def test_what_can_be_made(binding: AclBinding, code: ErrorCode):
    """VC-140, VC-143, VC-144: in a virtual cluster that need not be there yet."""
    cluster = a_cluster()
    (result,) = cluster.execute(
        [CreateAclRequest(binding=binding)], validate_only=False, principal="User:me"
    )
    assert result.code is code
    assert cluster.read_state().acls == ({binding} if result.ok else frozenset())


def test_the_same_acl_in_two_virtual_clusters_is_two():
    """VC-143: and deleting one leaves the others."""
    cluster = a_cluster()
    three = [READ, scoped(A), scoped(B)]
    admin(cluster).create_acls(three)
    assert cluster.read_state().acls == set(three)
    for binding in three:
        (result,) = cluster.execute(
            [DeleteAclRequest(binding=binding)], validate_only=False, principal="User:me"
        )
        assert result.ok
        assert binding not in cluster.read_state().acls
        assert len(cluster.read_state().acls) == 2
        admin(cluster).create_acls([binding])


def test_who_knows_nothing_of_virtual_clusters_sees_and_deletes_none_of_their_acls():
    """VC-105, VC-248: kafka-cluster is the scope of ACLs in no virtual cluster."""
    client = admin(a_cluster())
    everywhere = {READ, scoped(A), scoped("e", PREFIXED), scoped("*")}
    client.create_acls(sorted(everywhere))
    assert client.describe_acls(AclFilter()).bindings == (READ,)
    assert client.describe_acls(AclFilter(virtual_cluster=A)).bindings == (scoped(A),)
    prefixed = AclFilter(virtual_cluster="e", virtual_cluster_pattern=PREFIXED)
    assert client.describe_acls(prefixed).bindings == (scoped("e", PREFIXED),)
    assert set(client.describe_acls(AclFilter(virtual_cluster=None)).bindings) == everywhere
    assert client.delete_acls([AclFilter()])[0].bindings == (READ,)
    assert set(client.delete_acls([AclFilter(virtual_cluster=None)])[0].bindings) == (
        everywhere - {READ}
    )


ADMIN = "User:vc-admin"


def administered(*bindings: AclBinding):
    """A guarded cluster, with connections of its administrator and of one of a virtual cluster."""
    own = a_grant(Operation.ALTER, ResourceType.CLUSTER, A, ADMIN)
    cluster = a_guarded_cluster(
        Compat.KRAFT, own, cluster_grant(Operation.ALTER, "User:admin"), *bindings
    )
    return cluster, admin(cluster, "User:admin"), admin(cluster, ADMIN)


def test_filters_that_reach_farther_need_the_whole_cluster():
    """VC-147: an administrator deletes nothing by a filter that means others' too."""
    cluster, the_admin, vc_admin = administered()
    the_admin.create_acls([scoped(A), scoped(B), READ])
    before = cluster.read_state().acls
    for wanted in (AclFilter(), AclFilter(virtual_cluster=None), AclFilter(virtual_cluster=B)):
        assert vc_admin.delete_acls([wanted])[0].result.code is REFUSED
    # On CLUSTER the name is the virtual cluster, so a filter without one means all of them.
    clusters = AclFilter(resource_type=ResourceType.CLUSTER, virtual_cluster=A)
    assert not vc_admin.delete_acls([clusters])[0].bindings
    assert cluster.read_state().acls == before
    assert vc_admin.delete_acls([AclFilter(virtual_cluster=A)])[0].bindings == (scoped(A),)


@pytest.mark.parametrize(
    ("binding", "code"),
    [
        (scoped(A), ErrorCode.UNSUPPORTED_VERSION),
        (on_cluster(CLUSTER_NAME, operation=Operation.LIST_VIRTUAL_CLUSTERS),
         ErrorCode.UNSUPPORTED_VERSION),
        (on_cluster(A), INVALID),
        (on_cluster(CLUSTER_NAME), OK),
        (READ, OK),
    ],
)  # fmt: skip
def test_without_the_feature_acls_are_todays(binding: AclBinding, code: ErrorCode):
    """VC-351."""
    client = admin(boot(None, options=Options(virtual_clusters=False)))
    assert client.create_acls([binding])[0].code is code
