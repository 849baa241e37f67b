"""What a policy sees: topics as they are and would be, and the cluster before the request."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from policy.asking import (
    TOPIC_ID,
    a_state,
    a_topic_state,
    alteration,
    creation,
    deletion,
    judge,
    seen,
    stopped,
)

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.names import REGISTRY_TOPIC
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.policy import (
    AlterTopicRequest,
    BaseTopicPolicy,
    ClusterState,
    CreateTopicRequest,
    DeleteTopicRequest,
    PolicyViolation,
)
from kgitops.policy.testing import alter_topic, cluster, create_topic, topic

ORDERS = a_topic_state(assignment=((2, 1, 3), (3, 1)), configs={"a": "1", "b": "2"})


def requested(request: object, _: object) -> RequestedTopicState:
    assert isinstance(request, CreateTopicRequest | AlterTopicRequest)
    return request.requested_state


def test_a_topic_as_it_is() -> None:
    """P201-13…15, P201-17: counts, the replicas in their order, and configs as text."""
    (state,) = seen(lambda _, world: world.topic_state("orders"), a_state(ORDERS), deletion())
    assert state is not None
    assert state.num_partitions == len(state.replicas_assignments) == 2
    assert state.replication_factor == 3  # partition 0 decides, though partition 1 has two
    assert dict(state.replicas_assignments) == {0: (2, 1, 3), 1: (3, 1)}
    assert dict(state.configs) == {"a": "1", "b": "2"}
    assert topic("uneven", assignments={0: [1, 2], 1: [1, 2, 3]}).replication_factor == 2


def test_a_topics_configs_are_its_own() -> None:
    """P201-18: defaults are no part of them; what holds can be asked for."""
    plain = a_topic_state("plain")
    kept = topic("kept", configs={"retention.ms": " 5 ", "cleanup.policy": "delete,compact"})
    view = cluster(plain, kept, broker_defaults={"retention.ms": "9"})
    state = view.topic_state("plain")
    assert state is not None
    assert dict(state.configs) == {}
    assert view.effective_config(plain, "retention.ms") == "9"
    assert view.effective_config(plain, "cleanup.policy") == "delete"
    assert view.effective_config(kept, "retention.ms") == "5"
    assert view.effective_config(kept, "cleanup.policy") == "compact,delete"
    assert view.effective_config(plain, "no.such.config") is None


def test_internal_topics_are_known_by_name() -> None:
    """P201-20, P201-33: of a topic that is there and of one that is asked for."""
    brokers_own = ("__consumer_offsets", "__transaction_state", "__share_group_state")
    for name in (*brokers_own, "__cluster_metadata", REGISTRY_TOPIC):
        assert topic(name).internal
        (state,) = seen(requested, a_state(), creation(name))
        assert state.internal
        assert not state.marked_for_deletion
    assert not topic("__my_topic").internal


def test_a_topic_that_is_being_deleted_says_so() -> None:
    """P201-19, P201-38: its state is there, with the flag."""
    dying = a_topic_state("dying", marked_for_deletion=True)
    states = seen(lambda _, world: world.topic_state("dying"), a_state(dying, ORDERS), deletion())
    assert [state and state.marked_for_deletion for state in states] == [True]
    assert not topic("orders").marked_for_deletion


@pytest.mark.parametrize("of", ["current", "requested"])
def test_nobody_can_change_what_is_seen(of: str) -> None:
    """P201-21: a policy that tries fails, and the cluster stays as it is."""

    class Changes(BaseTopicPolicy):
        def validate_alter_topic(
            self, request: AlterTopicRequest, cluster_state: ClusterState
        ) -> None:
            state: Any = cluster_state.topic_state("orders")
            if of == "requested":
                state = request.requested_state
            with pytest.raises(TypeError):
                state.configs["a"] = "9"
            with pytest.raises(AttributeError):
                state.assignment = ()
            state.replicas_assignments.clear()
            raise PolicyViolation(f"{state.configs['a']} {state.num_partitions}")

    said = judge(Changes(), a_state(ORDERS), *[alteration(ORDERS, configs={"b": "3"})] * 2)
    assert [item.message for item in said] == ["1 2", "1 2"]
    assert ORDERS.configs == {"a": "1", "b": "2"}


def test_a_requested_state_is_a_state_and_more() -> None:
    """P201-22: everything of a topic, and what the request asked for."""
    assert issubclass(RequestedTopicState, TopicState)
    (state,) = seen(requested, a_state(), creation(configs={"a": "1"}))
    assert (state.num_partitions, state.replication_factor, state.internal) == (2, 2, False)
    assert dict(state.requested_configs) == {"a": "1"}


@pytest.mark.parametrize(
    "request_",
    [
        create_topic("orders", 2, 3),
        create_topic("orders", assignments={0: [1, 2, 3], 1: [2, 3, 1]}),
    ],
)
def test_both_forms_of_a_creation_tell_the_same(request_: CreateTopicRequest) -> None:
    """P201-24: no field is ever missing, and the three agree."""
    state = request_.requested_state
    assert state.num_partitions == 2
    assert state.replication_factor == 3
    assert sorted(state.replicas_assignments[0]) == [1, 2, 3]


def test_who_placed_the_replicas() -> None:
    """P201-23, P201-32: true only where this request's replicas were placed for the user."""
    orders = topic("orders", assignments={0: [1, 2]})
    generated = {
        "counts": create_topic("a", 2, 2),
        "lists": create_topic("a", assignments={0: [1]}),
        "config": alter_topic(orders, configs={"a": "1"}),
        "growth": alter_topic(orders, partitions=2),
        "growth by lists": alter_topic(orders, assignments={0: [1, 2], 1: [2, 1]}),
        "move": alter_topic(orders, assignments={0: [2, 3]}),
        "factor": alter_topic(orders, replication_factor=3),
    }
    assert [
        name for name, r in generated.items() if r.requested_state.generated_replica_assignments
    ] == ["counts", "growth", "factor"]
    for name in ("counts", "growth", "factor"):
        assert generated[name].requested_state.replicas_assignments


MERGES: list[tuple[Mapping[str, str | None], Mapping[str, str]]] = [
    ({"b": "3", "c": "4"}, {"a": "1", "b": "3", "c": "4"}),
    ({"b": None}, {"a": "1"}),
    ({"x": None}, {"a": "1", "b": "2"}),
    ({}, {"a": "1", "b": "2"}),
]


@pytest.mark.parametrize(("asked", "after"), MERGES)
def test_configs_are_those_afterwards(
    asked: Mapping[str, str | None], after: Mapping[str, str]
) -> None:
    """P201-25…27: overlaid, removed keys absent; what was asked has None for them."""
    orders = topic("orders", configs={"a": "1", "b": "2"})
    state = alter_topic(orders, configs=asked).requested_state
    assert dict(state.configs) == after
    assert dict(state.requested_configs) == asked
    assert orders.configs == {"a": "1", "b": "2"}


def test_removed_keys_reach_policies_as_none() -> None:
    """P201-28, EXP-03: a policy that reads requested_configs meets None."""
    (state,) = seen(requested, a_state(ORDERS), alteration(ORDERS, configs={"b": None}))
    assert dict(state.requested_configs) == {"b": None}
    assert dict(state.configs) == {"a": "1"}


def test_other_steps_ask_for_no_configs() -> None:
    """P201-26: the map is empty, never missing."""
    grown = alteration(ORDERS, assignment=(*ORDERS.assignment, (1, 2)))
    (state,) = seen(requested, a_state(ORDERS), grown)
    assert state.requested_configs == {}
    assert dict(state.configs) == {"a": "1", "b": "2"}


def test_a_creation_has_nothing_before_it() -> None:
    """P201-30, P201-35, P201-36, EXP-04: no current state, and all configs are requested."""
    states = seen(
        lambda request, world: (requested(request, world), world.topic_state("new")),
        a_state(ORDERS),
        creation("new", configs={"a": "1"}),
    )
    ((state, current),) = states
    assert current is None
    assert dict(state.configs) == dict(state.requested_configs) == {"a": "1"}


def test_growth_shows_all_partitions() -> None:
    """P201-31: the new total, and old and new partitions."""
    orders = topic("orders", 3, 2)
    state = alter_topic(orders, partitions=5).requested_state
    assert state.num_partitions == 5
    assert list(state.replicas_assignments) == [0, 1, 2, 3, 4]
    assert state.assignment[:3] == orders.assignment
    assert {len(replicas) for replicas in state.assignment} == {2}


def test_the_cluster_is_as_it_was_before_the_request() -> None:
    """P201-35: a topic to create is not there yet, one to delete still is; then it is not."""
    there = seen(
        lambda _, world: world.topic_state("orders") is not None,
        a_state(),
        creation(),
        deletion(),
        creation(),
    )
    assert there == [False, True, False]


def test_an_unknown_topic_is_none() -> None:
    """P201-36: nothing is raised."""
    assert cluster(topic("orders")).topic_state("payments") is None


def test_the_flags_widen_the_set_of_topics() -> None:
    """P201-37: two by two."""
    offsets = "__consumer_offsets"
    view = cluster(
        topic("a"),
        topic(offsets),
        topic("b", marked_for_deletion=True),
        topic("__share_group_state", marked_for_deletion=True),
    )
    assert view.topics() == {"a"}
    assert view.topics(include_internal=True) == {"a", offsets}
    assert view.topics(include_marked_for_deletion=True) == {"a", "b"}
    assert len(view.topics(include_internal=True, include_marked_for_deletion=True)) == 4
    # As KIP-201 writes them: topics(includeInternal, includeMarkedForDeletion).
    assert view.topics(True, False) == {"a", offsets}
    assert view.topics(False, True) == {"a", "b"}
    assert len(view.topics(True, True)) == 4


def test_the_names_follow_what_was_accepted() -> None:
    """P201-35: the set is that of this request, not of an earlier one."""
    names = seen(
        lambda _, world: (world.topics(), world.partitions("o")),
        a_state(ORDERS),
        creation("other"),
        deletion(),
        deletion("other"),
    )
    assert names == [({"orders"}, 2), ({"orders", "other"}, 4), ({"other"}, 2)]


def test_fenced_brokers_count() -> None:
    """P201-39: those that are registered are the size."""
    brokers = (Broker(id=1), Broker(id=2), Broker(id=3, fenced=True))
    (size,) = seen(
        lambda _, world: world.cluster_size(),
        a_state(brokers=brokers),
        creation(assignment=((1,),)),
    )
    assert size == 3


def test_the_broker_is_the_one_that_asks() -> None:
    """P201-40: its configs, and none where nobody knows the broker."""
    look = lambda _, world: dict(world.broker_state().configs)  # noqa: E731
    told = seen(look, a_state(), creation(), broker_configs={"node.id": "2"})
    assert told == [{"node.id": "2"}]
    assert seen(look, a_state(), creation()) == [{}]


def test_deletions_before_are_told() -> None:
    """A policy may count what the same plan deletes; what is refused is not counted."""

    class NoB(BaseTopicPolicy):
        def __init__(self) -> None:
            self.told: list[frozenset[str]] = []

        def validate_delete_topic(
            self, request: DeleteTopicRequest, cluster_state: ClusterState
        ) -> None:
            self.told.append(cluster_state.deleted_topics())
            if request.topic == "b":
                raise PolicyViolation("not b")

    policy = NoB()
    topics = [a_topic_state(name) for name in "abc"]
    said = judge(policy, a_state(*topics), *[deletion(name) for name in "abc"])
    assert stopped(said) == [False, True, False]
    assert policy.told == [set(), {"a"}, {"a"}]


def test_defaults_are_read_only_and_made_once() -> None:
    view = cluster(broker_defaults={"retention.ms": "5"})
    first = view.default_configs()
    assert isinstance(first, MappingProxyType)
    assert view.default_configs()["retention.ms"] == "5"
    assert view.default_configs()["cleanup.policy"] == "delete"
    assert view.default_configs() is first


def test_a_topic_in_a_judged_state_keeps_its_id() -> None:
    (state,) = seen(lambda _, world: world.topic_state("orders"), a_state(ORDERS), deletion())
    assert state is not None
    assert state.topic_id == TOPIC_ID
