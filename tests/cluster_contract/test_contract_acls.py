"""ACLs, as every cluster changes them."""

import pytest
from cluster_contract.contract import PRINCIPAL, await_state, binding, done, send
from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    OPERATIONS,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.results import ErrorCode

pytestmark = pytest.mark.default_kafka

NAMES = {ResourceType.CLUSTER: CLUSTER_NAME, ResourceType.USER: "User:billing"}
READ, WRITE = binding(), binding(operation=Operation.WRITE)
NEIGHBOURS = (
    replace(READ, pattern_type=PatternType.PREFIXED),
    replace(READ, permission_type=PermissionType.DENY),
    replace(READ, principal="User:audit"),
    replace(READ, host="10.0.0.1"),
    replace(READ, resource_name="*"),
    replace(READ, resource_type=ResourceType.GROUP),
    WRITE,
)


def test_a_binding_comes_and_goes(cluster: Cluster):
    done(cluster, CreateAclRequest(binding=READ), lambda state: state.acls == {READ})
    done(cluster, DeleteAclRequest(binding=READ), lambda state: not state.acls)


def test_creating_again_and_deleting_again_are_successes(cluster: Cluster):
    """A4-94, A4-95."""
    for _ in range(2):
        done(cluster, CreateAclRequest(binding=READ), lambda state: state.acls == {READ})
    for _ in range(2):
        done(cluster, DeleteAclRequest(binding=READ), lambda state: not state.acls)


def test_exactly_one_binding_is_deleted(cluster: Cluster):
    """A4-95: none that only looks like it."""
    everything = {READ, *NEIGHBOURS}
    requests = [CreateAclRequest(binding=item) for item in sorted(everything)]
    results = cluster.execute(requests, validate_only=False, principal=PRINCIPAL)
    assert all(result.ok for result in results)
    await_state(cluster, lambda state: state.acls == everything)
    done(
        cluster,
        DeleteAclRequest(binding=READ),
        lambda state: state.acls == everything - {READ},
    )


@pytest.mark.parametrize(
    "bad",
    [
        replace(READ, principal="billing"),
        replace(READ, resource_type=ResourceType.CLUSTER, resource_name="o:r"),
        replace(READ, resource_name=""),
    ],
    ids=["principal", "cluster", "name"],
)
def test_a_bad_binding_is_refused_and_hides_no_other(cluster: Cluster, bad):
    """A4-87, A4-95, VC-007, VC-140: the name of a virtual cluster is one of a cluster as well."""
    requests = [CreateAclRequest(binding=item) for item in (READ, bad, WRITE)]
    results = cluster.execute(requests, validate_only=False, principal=PRINCIPAL)
    codes = [result.code for result in results]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    await_state(cluster, lambda state: state.acls == {READ, WRITE})


def test_every_kind_of_binding(cluster: Cluster):
    """A4-95: each resource type, pattern, operation and permission that there is."""
    everything = {
        replace(
            READ,
            resource_type=resource_type,
            resource_name=NAMES.get(resource_type, "orders"),
            pattern_type=pattern_type,
            operation=operation,
            permission_type=permission_type,
        )
        for resource_type, operations in OPERATIONS.items()
        for operation in (*operations, Operation.ALL)
        for permission_type in PermissionType
        for pattern_type in PatternType
    }
    ordered = sorted(everything)
    for kind, after in ((CreateAclRequest, everything), (DeleteAclRequest, {ordered[0]})):
        requests = [kind(binding=item) for item in ordered if item not in after or len(after) > 1]
        results = cluster.execute(requests, validate_only=False, principal=PRINCIPAL)
        assert {str(result) for result in results} == {"ok"}
        await_state(cluster, lambda state, after=after: state.acls == after)


def test_bindings_of_the_cluster(cluster: Cluster):
    alter = replace(
        READ,
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
        operation=Operation.ALTER,
    )
    done(cluster, CreateAclRequest(binding=alter), lambda state: state.acls == {alter})
    assert send(cluster, DeleteAclRequest(binding=READ)).ok
    assert cluster.read_state().acls == {alter}
