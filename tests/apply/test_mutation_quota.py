"""Many topics on a real cluster whose operators limit how fast it may change (KIP-599)."""

import pytest
from apply.plans import Apply
from builders import UID, a_desired, a_topic, plan_of
from cluster_contract.contract import done

from kgitops.apply.context import ApplySettings
from kgitops.apply.events import Waiting, WaitReason
from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.model.clock import SystemClock
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.resources.quotas import make_entity
from kgitops.model.verdict import ExitCode

pytestmark = pytest.mark.kafka

MANY = 2_000
RATE = 100.0
"""Mutations a second. A broker lets eleven seconds' worth through at once: about half of MANY."""


def test_each_of_many_topics_is_created_exactly_once_under_a_mutation_quota(
    kafka_cluster: KafkaCluster,
) -> None:
    """F590-54: the throttled ones are sent again as the quota allows, the others are not."""
    anyone = make_entity({"user": None})
    quota = AlterClientQuotaRequest(entity=anyone, quotas={"controller_mutation_rate": RATE})
    state = done(kafka_cluster, quota, lambda state: anyone in state.quotas)
    names = [f"t{number:04}" for number in range(MANY)]
    desired = a_desired(*(a_topic(name, assignment=((1,),)) for name in names))
    apply = Apply(cluster=kafka_cluster, settings=ApplySettings(), clock=SystemClock())

    result = apply.plan(plan_of(desired, state))

    assert result.verdict.exit is ExitCode.SUCCESS, result.failed[:3]
    assert len(result.done) == MANY
    waits = [event for event in apply.events if isinstance(event, Waiting)]
    throttled = [e for e in waits if "THROTTLING_QUOTA_EXCEEDED (89)" in e.sentence]
    assert {event.reason for event in throttled} == {WaitReason.RETRY}
    assert all(0 < len(event.steps) < MANY for event in throttled)
    state = kafka_cluster.read_state()
    assert list(state.topics) == names
    # An id is minted by the request that created the topic: had one been created twice, the second
    # would have been refused, and the journal would know another id or none.
    assert state.registry
    owned = {address: owner.topic_id for address, owner in state.registry.owners.items()}
    assert owned == {f"topic/{name}": state.topics[name].topic_id for name in names}
    assert {owner.project for owner in state.registry.owners.values()} == {UID}
