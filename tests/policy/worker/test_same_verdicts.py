"""The law of the worker: it says of every request what a judge in this process says."""

from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.request_strategies import any_text, bindings, entities, quota_values, requests
from policy.worker.judgings import BROKERS, a_policy

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateTopicRequest
from kgitops.model.resources.quotas import ClientQuotaState
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.policy.evaluate.bundle import (
    CelPolicy,
    CelValidation,
    Level,
    Policy,
    RequestMatch,
    Waiver,
)
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.loading import load_rules
from kgitops.policy.worker.session import WorkerEvaluator

SMALL = CelPolicy(
    name="small",
    level=Level.SOFT,
    digest="",
    match=RequestMatch(requests=("CreateTopic", "AlterTopic")),
    validations=(
        CelValidation(expression="requested.partitions < 2", field="partitions"),
        CelValidation(
            expression="cluster.brokers.size() > 3 || request.name != 'orders'",
            message_expression="'no ' + request.name + ' for ' + principal.name",
        ),
    ),
)
POLICIES: tuple[Policy, ...] = (
    a_policy("good:Accepts"),
    a_policy("good:Everything", level=Level.INFO),
    a_policy("good:Odd", level=Level.SOFT),
    SMALL,
    a_policy("good:Cap", configs={"max": "4"}),  # few topics reach it together
    a_policy("bad:Raises", level=Level.ADVISORY),
    a_policy("bad:BrokenText", name="same", level=Level.INFO),
    a_policy("good:Accepts", name="same", level=Level.INFO),
)
WAIVERS = tuple(
    Waiver(
        name=policy,
        policy=policy,
        address="topic/orders",
        owner="me",
        reason="for now",
        ticket="OPS-1",
        expires=date(2026, 5, 1),
    )
    for policy in ("Odd", "small")
)

names = st.sampled_from(("orders", "bad", "billing", "__consumer_offsets")) | any_text
configs = st.dictionaries(any_text, any_text, max_size=3)
assignments = st.lists(st.just((1, 2)), min_size=1, max_size=4).map(tuple)


@st.composite
def creations(draw: st.DrawFn) -> CreateTopicRequest:
    """Topics that policies know something of."""
    asked = draw(configs)
    state = RequestedTopicState(
        name=draw(names),
        topic_id=None,
        assignment=draw(assignments),
        configs=asked,
        requested_configs=asked,
    )
    return CreateTopicRequest(topic=state.name, requested_state=state)


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    """Clusters with all that policies can see."""
    topics = draw(
        st.lists(
            st.builds(
                TopicState,
                name=names,
                topic_id=st.none(),
                assignment=assignments,
                configs=configs,
                marked_for_deletion=st.booleans(),
            ),
            max_size=3,
        )
    )
    quotas = draw(st.dictionaries(entities, st.dictionaries(any_text, quota_values), max_size=2))
    return ClusterState(
        cluster_id="test",
        backend="embedded",
        brokers=BROKERS,
        topics={topic.name: topic for topic in topics},
        acls=frozenset(draw(st.sets(bindings, max_size=2))),
        quotas={
            entity: ClientQuotaState(entity=entity, quotas=held) for entity, held in quotas.items()
        },
        broker_defaults=draw(configs),
    )


@pytest.fixture(scope="module")
def judges() -> Iterator[tuple[PolicyEvaluator, PolicyEvaluator]]:
    """The two, with the same policies."""
    here, there = (
        InProcessEvaluator(load_rules(POLICIES), WAIVERS),
        WorkerEvaluator(POLICIES, WAIVERS),
    )
    yield here, there
    here.close()
    there.close()


@given(states(), st.lists(creations() | requests, max_size=6), st.none() | configs, st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_worker_says_what_a_judge_says(judges, state, asked, node, data):
    """EXP-09, P201-09, P201-35, P201-40, P201-41: whatever the state, the requests and the node."""
    for judge in judges:
        judge.begin(state, principal="User:alice")
    here, there = judges

    assert list(here.judge_all(asked)) == list(there.judge_all(asked))
    for request in asked:
        said = here.judge(request, broker_configs=node)
        assert there.judge(request, broker_configs=node) == said
        if data.draw(st.booleans()):
            here.accept(request)
            there.accept(request)
