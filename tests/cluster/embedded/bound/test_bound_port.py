"""What a plan's principal may apply to topics by the names that they have in a virtual cluster."""

import pytest
from cluster.clusters import BOTH, topic_grant
from cluster.embedded.bound.tenancies import HR, PHYSICAL, SALES, on_cluster, scoped, two_tenants

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.options import Compat
from kgitops.model import requests as req
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import ErrorCode

DENIED = {ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
ORDERS = LocalName(SALES, "orders")


def answer(cluster: EmbeddedCluster, principal: str, request: req.Request) -> ErrorCode:
    """The code of its answer."""
    return cluster.execute([request], validate_only=False, principal=principal)[0].code


def request(
    cluster: EmbeddedCluster, step: req.AlterStep | None, local: LocalName | None, topic: str
) -> req.Request:
    """One step of an alteration of the topic; None: its records are deleted."""
    state = cluster.read_state().topics[topic]
    if step is None:
        return req.DeleteRecordsRequest(
            topic=topic, topic_id=state.topic_id, deleted_message_offsets={0: 0}, local=local
        )
    assignment = {
        req.AlterStep.CONFIGS: state.assignment,
        req.AlterStep.PARTITIONS: (*state.assignment, (1, 2)),
        req.AlterStep.REPLICAS: ((3, 2), *state.assignment[1:]),
    }[step]
    wanted = RequestedTopicState(
        name=topic,
        topic_id=state.topic_id,
        assignment=assignment,
        configs={"retention.ms": "1"},
        requested_configs={"retention.ms": "1"},
    )
    return req.AlterTopicRequest(
        topic=topic, topic_id=state.topic_id, step=step, requested_state=wanted, local=local
    )


@pytest.mark.parametrize("compat", BOTH)
def test_an_administrator_applies_configs_in_its_virtual_cluster(compat: Compat):
    """VC-011, VC-146, VC-154, VC-155: configs, by a name that the topic has there; nothing else."""
    cluster = two_tenants(on_cluster(Operation.ALL, SALES, "User:admin"), compat=compat)
    topic, foreign = PHYSICAL[SALES], PHYSICAL[HR]
    configs = req.AlterStep.CONFIGS
    assert answer(cluster, "User:admin", request(cluster, configs, ORDERS, topic)) is (
        ErrorCode.NONE
    )
    for step, local, name in [
        (configs, None, topic),
        (configs, LocalName(HR, "orders"), foreign),
        (configs, ORDERS, foreign),
        (configs, LocalName(SALES, "never"), topic),
        (req.AlterStep.PARTITIONS, ORDERS, topic),
        (req.AlterStep.REPLICAS, ORDERS, topic),
        (None, ORDERS, topic),
    ]:
        assert answer(cluster, "User:admin", request(cluster, step, local, name)) in DENIED


@pytest.mark.parametrize("compat", BOTH)
def test_a_member_applies_what_it_may_do_by_the_local_name(compat: Compat):
    """VC-145, VC-036, VC-152."""
    cluster = two_tenants(compat=compat)
    topic = PHYSICAL[SALES]
    for step in (req.AlterStep.CONFIGS, req.AlterStep.PARTITIONS, None):
        asked = request(cluster, step, ORDERS, topic)
        assert answer(cluster, "User:b", asked) in DENIED
        assert answer(cluster, "User:a", asked) is ErrorCode.NONE
    assert (
        answer(cluster, "User:a", request(cluster, req.AlterStep.REPLICAS, ORDERS, topic)) in DENIED
    )


def test_a_members_right_is_one_on_the_name():
    """VC-145: as on the call itself."""
    cluster = two_tenants(scoped(topic_grant(Operation.ALTER)), members_may=False)
    topic = PHYSICAL[SALES]
    assert answer(cluster, "User:a", request(cluster, req.AlterStep.PARTITIONS, ORDERS, topic)) is (
        ErrorCode.NONE
    )
    assert (
        answer(cluster, "User:a", request(cluster, req.AlterStep.CONFIGS, ORDERS, topic)) in DENIED
    )
    assert answer(cluster, "User:a", request(cluster, None, ORDERS, topic)) in DENIED


def test_a_right_is_one_for_its_request_alone():
    """VC-145: not for those that come after it in a batch."""
    cluster = two_tenants()
    allowed = request(cluster, req.AlterStep.CONFIGS, ORDERS, PHYSICAL[SALES])
    foreign = request(cluster, req.AlterStep.CONFIGS, None, PHYSICAL[HR])
    results = cluster.execute([allowed, foreign], validate_only=False, principal="User:a")
    assert [result.code for result in results] == [
        ErrorCode.NONE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ]
