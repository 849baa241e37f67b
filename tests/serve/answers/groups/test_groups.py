"""Groups over sockets: where they are, who is in them, and that they can be deleted."""

from contextlib import ExitStack

import pytest
from cluster.clusters import ROOT, a_grant, admin
from cluster.embedded.bound.tenancies import change, execute
from patience import eventually
from serve.answers.groups.group_client import (
    CONSUMER,
    at_coordinator,
    commit,
    commit_request,
    coordinator_of,
    heartbeat,
    join,
    join_request,
    make_topic,
    sync,
)
from serve.raw_client import RawClient, raw_client
from serve.served import client_of, cluster_of

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.model.requests import CreateVirtualClusterRequest, DeleteGroupRequest
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.resources.virtual_clusters import EntityType
from kgitops.serve.background import serving
from kgitops.serve.listening.answering import ANONYMOUS
from kgitops.serve.server import KafkaServer
from kgitops.wire import messages


def describe(client: RawClient, group: str, version: int = 6, *, operations: bool = False):
    """The group, as DescribeGroups has it."""
    request = messages.DescribeGroupsRequest(
        groups=[group], include_authorized_operations=operations
    )
    return client.ask("DescribeGroups", version, request).groups[0]


def listed(client: RawClient, version: int = 5, **filters: list[str]) -> dict[str, tuple[str, str]]:
    """State and protocol type of the groups of a broker."""
    answer = client.ask("ListGroups", version, messages.ListGroupsRequest(**filters))
    assert answer.error_code == 0
    return {row.group_id: (row.group_state, row.protocol_type) for row in answer.groups}


def delete(client: RawClient, group: str) -> int:
    """Delete a group; the error code."""
    request = messages.DeleteGroupsRequest(groups_names=[group])
    code: int = client.ask("DeleteGroups", 2, request).results[0].error_code
    return code


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_in_every_version(server: KafkaServer, client: RawClient, version: int):
    """Groups and transactional ids each have one of the brokers."""
    ports = {endpoint.port for endpoint in server.endpoints}
    for kind in (0, 1) if version else (0,):
        if version >= 4:
            request = messages.FindCoordinatorRequest(key_type=kind, coordinator_keys=["a", "b"])
            rows = client.ask("FindCoordinator", version, request).coordinators
            assert [row.key for row in rows] == ["a", "b"]
        else:
            request = messages.FindCoordinatorRequest(key="a", key_type=kind)
            rows = [client.ask("FindCoordinator", version, request)]
        for row in rows:
            assert (row.error_code, row.host) == (0, "127.0.0.1")
            assert row.port in ports


def test_a_key_of_an_unknown_type(client: RawClient) -> None:
    """Share groups have no coordinator here."""
    request = messages.FindCoordinatorRequest(key_type=2, coordinator_keys=["g:x:0"])
    row = client.ask("FindCoordinator", 6, request).coordinators[0]
    assert (row.error_code, row.node_id, row.host, row.port) == (42, -1, "", -1)


def test_a_group_of_two(server: KafkaServer, client: RawClient) -> None:
    """They join and sync, each waiting for the other; then one leaves, and the rest join again."""
    with ExitStack() as stack:
        a, b = at_coordinator(stack, server, client, "g", 2)
        first = join(a, "g")
        assert (first.error_code, first.generation_id, first.leader) == (0, 1, first.member_id)
        assert first.member_id.startswith("c0-")
        given = b.ask("JoinGroup", 9, join_request("g"))
        assert (given.error_code, given.protocol_name) == (79, None)
        b.send("JoinGroup", 9, join_request("g", given.member_id))
        eventually(
            lambda: heartbeat(a, "g", first), lambda code: code == 27, what="the group rebalances"
        )
        again = join(a, "g", member_id=first.member_id)
        second = b.receive("JoinGroup", 9)
        assert again.generation_id == second.generation_id == 2
        assert (len(again.members), len(second.members)) == (2, 0)
        assert describe(a, "g").group_state == "CompletingRebalance"
        synced = sync(a, "g", again, {again.member_id: b"one", second.member_id: b"two"})
        assert synced.assignment == b"one"
        assert sync(b, "g", second, {}).assignment == b"two"
        found = describe(a, "g", operations=True)
        assert (found.group_state, found.protocol_type, found.protocol_data) == (
            "Stable",
            CONSUMER,
            "range",
        )
        rows = {row.member_id: row for row in found.members}
        assert rows[second.member_id].member_assignment == b"two"
        assert rows[second.member_id].client_id == "c1"
        assert rows[second.member_id].client_host == "/127.0.0.1"
        assert found.authorized_operations == sum(1 << bit for bit in (3, 6, 8, 10, 11))
        assert listed(a) == {"g": ("Stable", CONSUMER)}
        assert delete(a, "g") == 68
        member = messages.LeaveGroupRequest.MemberIdentity(member_id=second.member_id)
        leave = messages.LeaveGroupRequest(group_id="g", members=[member])
        left = b.ask("LeaveGroup", 5, leave)
        assert (left.error_code, left.members[0].error_code) == (0, 0)
        assert heartbeat(a, "g", again) == 27
        only = join(a, "g", member_id=first.member_id)
        assert (only.generation_id, len(only.members)) == (3, 1)
        old = messages.LeaveGroupRequest(group_id="g", member_id=first.member_id)
        assert a.ask("LeaveGroup", 2, old).error_code == 0
        assert listed(a, states_filter=["empty"]) == {"g": ("Empty", CONSUMER)}
        assert delete(a, "g") == 0
        assert listed(a) == {}


@pytest.mark.parametrize("version", range(10))
def test_joining_in_every_version(server: KafkaServer, client: RawClient, version: int) -> None:
    """With the versions of the other requests that came with it."""
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, "g", 1)
        answer = join(member, "g", version)
        assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
        assert answer.protocol_type == (CONSUMER if version >= 7 else None)
        synced = sync(member, "g", answer, {answer.member_id: b"x"}, min(version, 5))
        assert (synced.error_code, synced.assignment) == (0, b"x")
        assert heartbeat(member, "g", answer, min(version, 4)) == 0


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"session_timeout_ms": 5999}, 26),
        ({"session_timeout_ms": 1_800_001}, 26),
        ({"member_id": "unknown"}, 25),
        ({"group_id": ""}, 24),
        ({"protocol_type": ""}, 23),
        ({"protocols": []}, 23),
    ],
)
def test_who_can_not_join(
    server: KafkaServer, client: RawClient, more: dict[str, object], code: int
) -> None:
    """Errors, and no generation."""
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, str(more.get("group_id", "g")), 1)
        answer = member.ask("JoinGroup", 9, join_request("g", **more))
        found = answer.error_code, answer.generation_id, answer.protocol_name
        assert found == (code, -1, None)


def test_at_another_broker(server: KafkaServer, client: RawClient) -> None:
    """Only the coordinator answers."""
    make_topic(client, "orders")
    wrong = (coordinator_of(client, server, "g") + 1) % 3
    with raw_client(server.endpoints[wrong]) as other:
        assert other.ask("JoinGroup", 9, join_request("g")).error_code == 16
        assert commit(other, 9, commit_request("g", "orders", {0: 1})) == {0: 16}
        assert describe(other, "g").error_code == 16
        assert delete(other, "g") == 16
        request = messages.HeartbeatRequest(group_id="g")
        assert other.ask("Heartbeat", 4, request).error_code == 16
        request = messages.SyncGroupRequest(group_id="g", protocol_type="", protocol_name="")
        assert other.ask("SyncGroup", 5, request).error_code == 16
        assert other.ask("LeaveGroup", 5, messages.LeaveGroupRequest(group_id="g")).error_code == 16


def test_sync_must_tell_the_protocol(server: KafkaServer, client: RawClient) -> None:
    """KIP-559, from version 5 on."""
    request = messages.SyncGroupRequest(group_id="g", member_id="m", generation_id=1)
    with ExitStack() as stack:
        (member,) = at_coordinator(stack, server, client, "g", 1)
        assert member.ask("SyncGroup", 5, request).error_code == 23
        assert member.ask("SyncGroup", 4, request).error_code == 25


def test_groups_that_do_not_exist(server: KafkaServer, client: RawClient) -> None:
    """Dead, or unknown to newer clients (KIP-1043)."""
    with ExitStack() as stack:
        (there,) = at_coordinator(stack, server, client, "g", 1)
        assert (describe(there, "g", 5).group_state, describe(there, "g", 5).error_code) == (
            "Dead",
            0,
        )
        newer = describe(there, "g")
        assert (newer.error_code, newer.error_message) == (69, "Group g not found.")
        assert delete(there, "g") == 69
        request = messages.ConsumerGroupDescribeRequest(group_ids=["g"])
        row = there.ask("ConsumerGroupDescribe", 1, request).groups[0]
        assert (row.error_code, row.error_message) == (69, "Group g not found.")
        make_topic(client, "orders")
        commit(there, 9, commit_request("g", "orders", {0: 1}))
        row = there.ask("ConsumerGroupDescribe", 1, request).groups[0]
        assert (row.error_code, row.error_message) == (69, "Group g is not a consumer group.")


def test_lists_are_of_one_broker(server: KafkaServer, client: RawClient) -> None:
    """Each lists what it coordinates; filters are read in any case."""
    make_topic(client, "orders")
    groups = [f"g{number}" for number in range(9)]
    at = {group: coordinator_of(client, server, group) for group in groups}
    assert len(set(at.values())) > 1
    for group in groups:
        with raw_client(server.endpoints[at[group]]) as there:
            assert commit(there, 9, commit_request(group, "orders", {0: 1})) == {0: 0}
    for index, endpoint in enumerate(server.endpoints):
        with raw_client(endpoint) as there:
            own = {group for group in groups if at[group] == index}
            assert listed(there).keys() == own
            assert listed(there, states_filter=["EMPTY"], types_filter=["Classic"]).keys() == own
            assert listed(there, states_filter=["Stable"]) == {}
            assert listed(there, types_filter=["consumer"]) == {}
            assert listed(there, 0).keys() == own


def test_a_restart_makes_members_join_again(embedded: EmbeddedCluster) -> None:
    """The group is in the store, its members are not."""
    with serving(embedded) as server, ExitStack() as stack:
        client = stack.enter_context(raw_client(server.endpoints[0]))
        (member,) = at_coordinator(stack, server, client, "g", 1)
        joined = join(member, "g")
    with serving(embedded) as server, ExitStack() as stack:
        client = stack.enter_context(raw_client(server.endpoints[0]))
        (member,) = at_coordinator(stack, server, client, "g", 1)
        assert heartbeat(member, "g", joined) == 25
        assert describe(member, "g").group_state == "Empty"
        assert join(member, "g").generation_id == 1


def test_groups_of_a_virtual_cluster(embedded: EmbeddedCluster) -> None:
    """VC-110, VC-111, VC-116: the same local id is another group; it can't be deleted in use."""
    execute(embedded, CreateVirtualClusterRequest(virtual_cluster="sales"))
    change(embedded, "sales", EntityType.CLIENT_ID, "app")
    with serving(embedded) as server, ExitStack() as stack:
        outside = stack.enter_context(raw_client(server.endpoints[0]))
        inside = stack.enter_context(raw_client(server.endpoints[0], "app"))
        endpoint = server.endpoints[coordinator_of(inside, server, "g")]
        member = stack.enter_context(raw_client(endpoint, "app"))
        assert join(member, "g").generation_id == 1
        assert listed(member) == {"g": ("CompletingRebalance", CONSUMER)}
        with raw_client(endpoint) as there:
            assert listed(there) == {"sales:g": ("CompletingRebalance", CONSUMER)}
        (there,) = at_coordinator(stack, server, outside, "g", 1)
        assert describe(there, "g").error_code == 69
        delete_it = DeleteGroupRequest(virtual_cluster="sales", group="g")
        refused = embedded.execute([delete_it], validate_only=False, principal="User:x")
        assert refused[0].code == 68


def test_rights_on_groups() -> None:
    """Read for members, Describe to find and describe, Delete to delete."""
    cluster = cluster_of(brokers=1, rights=())
    with client_of(cluster) as client:
        request = messages.FindCoordinatorRequest(coordinator_keys=["g"])
        row = client.ask("FindCoordinator", 6, request).coordinators[0]
        assert (row.error_code, row.error_message) == (30, "Group authorization failed.")
        assert client.ask("JoinGroup", 9, join_request("")).error_code == 30
        root = admin(cluster, ROOT)
        root.create_acls([a_grant(Operation.DESCRIBE, ResourceType.GROUP, "g", ANONYMOUS)])
        assert describe(client, "g").error_code == 69
        assert client.ask("JoinGroup", 9, join_request("g")).error_code == 30
        root.create_acls([a_grant(Operation.READ, ResourceType.GROUP, "g", ANONYMOUS)])
        assert join(client, "g").error_code == 0
        assert listed(client).keys() == {"g"}
        assert delete(client, "g") == 30
