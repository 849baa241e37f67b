"""The client that kgitops has of KIP-1134's APIs, on a served cluster: changes and refusals."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from cluster.clusters import topic_grant
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.kafka.adapter import boot
from kgitops.cluster.kafka.virtual_clusters import VirtualClusterBrokers
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateVirtualClusterRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.server import KafkaServer


@pytest.fixture
def brokers(server: KafkaServer) -> Iterator[VirtualClusterBrokers]:
    """The port on the served cluster."""
    with closing(VirtualClusterBrokers(boot(str(server.endpoints[0]), {}))) as cluster:
        yield cluster


def send(cluster: VirtualClusterBrokers, request: Request, **how: bool) -> RequestResult:
    (result,) = cluster.execute(
        [request], validate_only=how.get("validate_only", False), principal="User:nobody"
    )
    return result


def altered(kind: EntityType, name: str, **how) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        **{"virtual_cluster": "a", "entity_type": kind, "entity_name": name, **how}
    )


def create(cluster: VirtualClusterBrokers, *names: str) -> None:
    for name in names:
        assert send(cluster, CreateVirtualClusterRequest(virtual_cluster=name)).ok


def test_state_is_that_of_the_store(
    embedded: EmbeddedCluster, brokers: VirtualClusterBrokers
) -> None:
    """VC-231…237: every kind of member, with the ids of linked topics, whatever is asked for."""
    create(brokers, "a", "b")
    for kind in EntityType:
        topic = "orders" if kind is EntityType.TOPIC else None
        name = "User:jane" if kind is EntityType.USER else "mine"
        assert send(brokers, altered(kind, name, topic=topic)).ok
    expected = embedded.read_state().virtual_clusters
    assert not expected["a"].empty
    assert brokers.read_state().virtual_clusters == expected
    narrow = brokers.read_state(frozenset())
    assert (narrow.virtual_clusters, narrow.topics) == (expected, {})
    followed = brokers.read_state(frozenset(), frozenset({LocalName("a", "mine")}))
    assert set(followed.topics) == {"orders"}


def test_a_move_is_one_request(brokers: VirtualClusterBrokers) -> None:
    """VC-086: and one that fails takes nothing away, and says why, not that it was not tried."""
    create(brokers, "a", "b")
    assert send(brokers, altered(EntityType.USER, "User:jane")).ok
    nowhere = altered(EntityType.USER, "User:jane", virtual_cluster="none", moved_from="a")
    assert send(brokers, nowhere).code is ErrorCode.RESOURCE_NOT_FOUND
    assert brokers.read_state().virtual_clusters["a"].users == {"User:jane"}
    moved = altered(EntityType.USER, "User:jane", virtual_cluster="b", moved_from="a")
    assert send(brokers, moved).ok
    found = brokers.read_state().virtual_clusters
    assert (found["a"].users, found["b"].users) == (frozenset(), {"User:jane"})


def test_validating_changes_nothing(brokers: VirtualClusterBrokers) -> None:
    """VC-241."""
    request = CreateVirtualClusterRequest(virtual_cluster="a")
    assert send(brokers, request, validate_only=True).ok
    assert brokers.read_state().virtual_clusters == {}


def test_errors_are_the_brokers_own(brokers: VirtualClusterBrokers) -> None:
    """VC-245, VC-246: codes of spec §25, with the brokers' sentences."""
    create(brokers, "a")
    again = send(brokers, CreateVirtualClusterRequest(virtual_cluster="a"))
    assert (again.code, "VC_ALREADY_EXISTS" in str(again)) == (ErrorCode.INVALID_REQUEST, True)
    gone = send(brokers, DeleteVirtualClusterRequest(virtual_cluster="none"))
    assert gone.code is ErrorCode.RESOURCE_NOT_FOUND
    absent = altered(EntityType.USER, "User:x", change=ChangeType.REMOVE)
    assert send(brokers, absent).code is ErrorCode.RESOURCE_NOT_FOUND


def test_what_has_no_field_is_not_sent(brokers: VirtualClusterBrokers) -> None:
    """VC-233: a group of another name to take over, and an ACL of a virtual cluster."""
    create(brokers, "a")
    adopting = altered(EntityType.GROUP, "g", adopts="old")
    assert send(brokers, adopting).code is ErrorCode.INVALID_REQUEST
    binding = replace(topic_grant(Operation.READ), virtual_cluster="a")
    for validate_only in (True, False):
        result = send(brokers, CreateAclRequest(binding=binding), validate_only=validate_only)
        assert result.code is ErrorCode.INVALID_REQUEST
    assert brokers.read_state().virtual_clusters["a"].empty
