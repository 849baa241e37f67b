"""Which throttle a plan puts around a move: beside those of others, only where data is copied."""

from collections.abc import Mapping

import pytest
from builders import a_desired, a_topic, a_topic_state, applied, plan_of, with_changes

from kgitops.desired.state import Safety
from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.requests import AlterBrokerRequest, AlterTopicRequest
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Assignment,
)
from kgitops.plan.document.plan import Action, Plan

BEFORE: Assignment = ((1, 2), (2, 3))
MOVED = a_topic(assignment=((1, 3), (2, 3)))


def cluster(
    configs: Mapping[str, str] | None = None, *throttled: Broker, before: Assignment = BEFORE
) -> ClusterState:
    topic = a_topic(assignment=before)
    others = {broker.id: broker for broker in throttled}
    brokers = [others.get(number, Broker(id=number)) for number in (1, 2, 3)]
    found = a_topic_state(assignment=before, configs=configs)
    return with_changes(applied(topic, brokers=brokers), found)


def plan(topic: DesiredTopic, current: ClusterState, rate: int = 1000) -> Plan:
    made = plan_of(a_desired(topic, safety=Safety(replication_throttle=rate)), current)
    assert not made.verdict.stops, made.verdict.reasons
    return made


def rates(made: Plan) -> dict[int, Mapping[str, str | None]]:
    """What is set on each broker before the move."""
    return {
        item.request.broker: item.request.configs
        for item in made.requests
        if isinstance(item.request, AlterBrokerRequest) and item.undoes is None
    }


def marks(made: Plan) -> list[Mapping[str, str | None]]:
    """The configs that each step sets on the topic."""
    return [
        item.request.requested_state.requested_configs
        for item in made.requests
        if isinstance(item.request, AlterTopicRequest)
        and item.request.requested_state.requested_configs
    ]


def test_leaders_send_and_new_replicas_fetch() -> None:
    """As kafka-reassign-partitions: any replica that is there may lead."""
    made = plan(MOVED, cluster())
    assert rates(made) == {
        1: {LEADER_RATE: "1000"},
        2: {LEADER_RATE: "1000"},
        3: {FOLLOWER_RATE: "1000"},
    }
    on, off = marks(made)
    assert on == {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}
    assert off == {LEADER_REPLICAS: None, FOLLOWER_REPLICAS: None}


def test_what_is_set_is_undone_after_the_moves_and_says_what_it_undoes() -> None:
    made = plan(MOVED, cluster())
    by_id = {item.id: item for item in made.requests}
    (move,) = [
        item
        for item in made.requests
        if isinstance(item.request, AlterTopicRequest) and item.request.step == "replicas"
    ]
    undoing = [item for item in made.requests if item.undoes]
    setting = {item.undoes for item in undoing}
    assert len(undoing) == 4
    assert all(move.id in item.depends_on for item in undoing)
    assert set(move.depends_on) == setting
    for item in undoing:
        fields = by_id[str(item.undoes)].expects.fields
        assert item.expects.fields.keys() <= fields.keys()


def test_each_broker_is_a_change_of_its_own() -> None:
    """A change touches only the object that it names."""
    made = plan(MOVED, cluster())
    brokers = [change for change in made.changes if change.kind is Kind.BROKER]
    assert [change.address for change in brokers] == ["broker/1", "broker/2", "broker/3"]
    assert all(change.actions == (Action.UPDATE,) for change in brokers)
    assert all(change.before == change.after for change in brokers), "as before in the end"
    assert all(change.owner_after is None for change in brokers)


@pytest.mark.parametrize(
    "topic", [a_topic(assignment=((2, 1), (2, 3))), a_topic(assignment=((1,), (2,)))]
)
def test_where_nothing_is_copied_nothing_is_throttled(topic: DesiredTopic) -> None:
    made = plan(topic, cluster())
    assert (rates(made), marks(made)) == ({}, [])


def test_no_throttle_is_a_choice() -> None:
    made = plan(MOVED, cluster(), rate=0)
    assert (rates(made), marks(made)) == ({}, [])


def test_a_rate_of_others_stays_and_is_said() -> None:
    current = cluster(None, Broker(id=1, throttles={LEADER_RATE: "7"}))
    made = plan(MOVED, current)
    assert rates(made).keys() == {2, 3}
    assert "broker/1 has leader.replication.throttled.rate=7 already" in str(made.warnings)


def test_marks_of_others_are_added_to_and_put_back() -> None:
    theirs = {LEADER_REPLICAS: "1:2", FOLLOWER_REPLICAS: "*"}
    on, off = marks(plan(MOVED, cluster(theirs)))
    assert on == {LEADER_REPLICAS: "0:1,0:2,1:2"}, "'*' holds for every replica as it is"
    assert off == {LEADER_REPLICAS: "1:2"}


def test_a_dead_broker_is_not_asked() -> None:
    made = plan(MOVED, cluster(None, Broker(id=2, fenced=True)))
    assert rates(made).keys() == {1, 3}


def test_a_rate_that_can_not_be_read_is_not_set_and_that_is_said() -> None:
    made = plan(MOVED, cluster(None, Broker(id=2, throttles=None)))
    assert rates(made).keys() == {1, 3}
    assert "the replication throttle of broker/2 can't be read" in str(made.warnings)


def test_one_throttle_serves_all_moves() -> None:
    """It is set before the first and taken back after the last."""
    state = cluster()
    other = a_topic("other", assignment=BEFORE)
    current = with_changes(state, a_topic_state("other", assignment=BEFORE))
    moved = a_topic("other", assignment=((1, 3), (2, 3)))
    desired = a_desired(MOVED, moved, safety=Safety(replication_throttle=1000))
    made = plan_of(desired, current)
    assert other.address in {change.address for change in made.changes}
    moves = {
        item.id
        for item in made.requests
        if isinstance(item.request, AlterTopicRequest) and item.request.step == "replicas"
    }
    assert len(moves) == 2
    for item in made.requests:
        if isinstance(item.request, AlterBrokerRequest) and item.undoes:
            assert moves <= set(item.depends_on)
    assert rates(made).keys() == {1, 2, 3}
