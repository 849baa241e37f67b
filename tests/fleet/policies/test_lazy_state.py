"""Policies say of a state that stays in its files what they say of the whole one."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fleet.policies.large_policies import cel, packed, telling
from fleet.policies.large_states import names, requests, save, shown, states
from hypothesis import given
from hypothesis import strategies as st

from kgitops.fleet.tables.hydrating import read_state
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import Request
from kgitops.policy.evaluate.bundle import Level, Policy, RequestRulings
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.loading import load_rules
from kgitops.policy.worker.session import WorkerEvaluator

POLICIES: tuple[Policy, ...] = (
    telling("Counts"),
    telling("Names"),
    telling("States"),
    telling("Walks"),
    telling("Rights"),
    telling("Others"),
    telling("Denies", Level.HARD),
    packed("PartitionBudget", max="14", maxPerBroker="5", prefixes="orders=6"),
    packed("MassDeleteGuard", max="1"),
    packed("RecordDeletionLimit", max="100"),
    packed("NoPartitionGrowthOfKeyedTopics", topics="orders*"),
    cel("budget", "partitions('orders') + cluster.partitions + cluster.topics < 15", "CreateTopic"),
    cel("parent", "topicExists('billing') && !topicExists('no-such')", "CreateTopic"),
    cel("grows", "requested.partitions <= current.partitions", "AlterTopic"),
    cel(
        "retention",
        "requested.effectiveConfigs['retention.ms'] != '1' || cluster.brokers.size() > 3",
        "CreateTopic",
        "AlterTopic",
    ),
    cel("rate", "!('producer_byte_rate' in requested.quotas)", "AlterClientQuota"),
    cel("drops", "current == null || current.quotas.size() < 2", "AlterClientQuota"),
    cel("shared", "request.links.size() == 0", "DeleteTopic"),
)


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerEvaluator]:
    judging = WorkerEvaluator(POLICIES)
    yield judging
    judging.close()


def said(
    judging: PolicyEvaluator, state: ClusterState, asked: Sequence[Request]
) -> Sequence[RequestRulings]:
    judging.begin(state, principal="User:alice")
    return [*judging.judge_all(asked), *(judging.judge(request) for request in asked)]


@pytest.mark.slow
@given(
    states(),
    st.lists(requests(), max_size=5),
    st.sets(names),
    st.integers(1, 8),
    st.lists(st.sampled_from(range(len(POLICIES))), min_size=1, max_size=4, unique=True),
)
def test_the_same_is_said_of_what_is_read_late(worker, state, asked, more, rows, chosen):
    """P201-42, P201-36, P201-37, P201-41: whichever policies ask first, here or in a process."""
    with TemporaryDirectory() as folder:
        files = save(state, Path(folder), rows)
        state = read_state(files, "prod")
        large = shown(state, files, asked, more)
        few = InProcessEvaluator(load_rules([POLICIES[index] for index in chosen]))
        assert said(few, large, asked) == said(few, state, asked)
        assert said(worker, shown(state, files, asked, more), asked) == said(worker, state, asked)
