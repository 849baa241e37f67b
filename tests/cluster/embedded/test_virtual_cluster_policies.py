"""Brokers' policies and virtual clusters: what they are asked, and what becomes of their no."""

from dataclasses import dataclass, field

import pytest
from cluster.policing import Recorder, logged, policed
from virtual_clusters.vc_requests import A, B, add, create, delete, link, remove

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.client.virtual_clusters_batch import (
    VirtualClusterAlteration,
    VirtualClusterEntityChange,
)
from kgitops.model import requests as req
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.model.results import ErrorCode
from kgitops.policy import PolicyViolation
from kgitops.policy.api.interfaces import VirtualClusterManagementPolicy

ORDERS = LocalName(A, "Orders")
USER, TOPIC = EntityType.USER, EntityType.TOPIC


@dataclass
class Everything(Recorder, VirtualClusterManagementPolicy):
    """Records those about virtual clusters too; refuses what is in ``refused``."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    refused: frozenset[str] = frozenset()

    def _about(self, method: str, virtual_cluster: str) -> None:
        self.asked.append((method, virtual_cluster))
        if method in self.refused:
            raise PolicyViolation(f"no {method}")

    def validate_create_virtual_cluster(self, request, cluster_state):
        self._about("create", request.virtual_cluster)

    def validate_alter_virtual_cluster(self, request, cluster_state):
        self._about("alter", request.virtual_cluster)

    def validate_delete_virtual_cluster(self, request, cluster_state):
        self._about("delete", request.virtual_cluster)

    def validate_create_topic_link(self, request, cluster_state):
        self._about("link", request.virtual_cluster)

    def validate_delete_topic_link(self, request, cluster_state):
        self._about("unlink", request.virtual_cluster)


def ask(cluster: EmbeddedCluster, request: req.Request) -> ErrorCode:
    return cluster.execute([request], validate_only=False, principal="User:me")[0].code


def a_topic() -> req.CreateTopicRequest:
    name = f"{req.NEW_UUID}.Orders"
    state = RequestedTopicState(name=name, topic_id=None, assignment=((1, 2),), configs={})
    return req.CreateTopicRequest(topic=name, requested_state=state, local=ORDERS)


def test_policies_are_asked_about_each_request_that_is_otherwise_in_order():
    """VC-408: after all checks, just before it is written."""
    policy = Everything()
    cluster = policed(policy, topics=["orders"])
    for request in (
        create(A),
        create(B),
        create(A),
        link("l", "orders"),
        link("m", "none"),
        add(USER, "User:x"),
        add(USER, "User:x", B, moved_from=A),
        remove(TOPIC, "l"),
        delete(A),
        delete(B),
    ):
        ask(cluster, request)
    assert policy.asked == [
        ("create", A),
        ("create", B),
        ("link", A),
        ("alter", A),
        ("alter", B),
        ("unlink", A),
        ("delete", A),
    ]


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("create", create("new")),
        ("alter", add(USER, "User:y")),
        ("alter", add(USER, "User:x", B, moved_from=A)),
        ("link", link("m", "orders")),
        ("unlink", remove(TOPIC, "l")),
        ("delete", delete(B)),
    ],
    ids=["create", "add", "move", "link", "unlink", "delete"],
)
def test_what_a_policy_denies_is_not_written(method: str, request_: req.Request):
    policy = Everything()
    cluster = policed(policy, topics=["orders"])
    for made in (create(A), create(B), link("l", "orders"), add(USER, "User:x")):
        assert ask(cluster, made) is ErrorCode.NONE
    before = cluster.controller.image(), logged(cluster)
    policy.refused = frozenset({method})
    (result,) = cluster.execute([request_], validate_only=False, principal="User:me")
    assert (result.code, result.message) == (ErrorCode.POLICY_VIOLATION, f"no {method}")
    assert (cluster.controller.image(), logged(cluster)) == before


def test_a_move_that_a_policy_denies_is_not_made_by_half():
    """VC-086, VC-240."""
    policy = Everything()
    cluster = policed(policy)
    for made in (create(A), create(B), add(USER, "User:x")):
        assert ask(cluster, made) is ErrorCode.NONE
    policy.refused = frozenset({"alter"})
    there = VirtualClusterEntityChange(resource_type=USER, entity_name="User:x")
    gone = VirtualClusterEntityChange(
        resource_type=USER, entity_name="User:x", change_type=ChangeType.REMOVE
    )
    client = EmbeddedAdmin(cluster.controller)
    results = client.alter_virtual_clusters(
        [
            VirtualClusterAlteration(virtual_cluster_name=A, changes=[gone]),
            VirtualClusterAlteration(virtual_cluster_name=B, changes=[there]),
        ]
    )
    assert results[A][gone.key].code is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert results[B][there.key].code is ErrorCode.POLICY_VIOLATION
    assert cluster.controller.image().virtual_clusters.users == {"User:x": A}


def test_a_topic_is_known_by_its_three_names():
    """VC-065: virtual cluster, link and physical name; the last is not known before."""
    policy = Everything()
    cluster = policed(policy)
    assert ask(cluster, create(A)) is ErrorCode.NONE
    assert ask(cluster, a_topic()) is ErrorCode.NONE
    (topic,) = cluster.read_state().topics.values()
    assert topic.topic_id is not None
    cluster.produce(topic.name, 0, records=3, bytes_each=1)
    after = RequestedTopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=topic.assignment,
        configs={"retention.ms": "5"},
        requested_configs={"retention.ms": "5"},
    )
    known = {"topic": topic.name, "topic_id": topic.topic_id, "local": ORDERS}
    for request in (
        req.AlterTopicRequest(**known, step=req.AlterStep.CONFIGS, requested_state=after),
        req.DeleteRecordsRequest(**known, deleted_message_offsets={0: 1}),
        remove(TOPIC, "Orders"),
        req.DeleteTopicRequest(**known),
    ):
        assert ask(cluster, request) is ErrorCode.NONE
    assert policy.methods == ["create", "alter", "delete records", "delete"]
    for request in policy.requests:
        assert (request.name, request.virtual_cluster, request.local) == ("Orders", A, ORDERS)
    names = [request.topic for request in policy.requests]
    assert names == [f"{req.NEW_UUID}.Orders", *[topic.name] * 3]


def test_what_comes_after_a_topic_sees_it_by_its_own_name():
    """P201-41: within one batch and in the next."""
    policy = Everything()
    cluster = policed(policy)
    ask(cluster, create(A))
    other = a_topic()
    second = req.CreateTopicRequest(
        topic=f"{req.NEW_UUID}.Bills",
        requested_state=RequestedTopicState(
            name=f"{req.NEW_UUID}.Bills", topic_id=None, assignment=((1,),)
        ),
        local=LocalName(A, "Bills"),
    )
    cluster.execute([other, second], validate_only=False, principal="User:me")
    first = next(name for name in cluster.read_state().topics if name.endswith(".Orders"))
    assert dict(policy.calls[1].topics) == {first: 1}
