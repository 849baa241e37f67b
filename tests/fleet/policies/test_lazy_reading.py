"""What is read of a large state, when, and what becomes of policies where it can't be read."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from builders import a_binding, a_cluster, a_quota_state, a_topic_state, an_entity
from fleet.policies.large_policies import cel, telling
from fleet.policies.large_states import save, shown
from fleet.policies.slowly_stored import SlowlyStored
from policy.worker.judgings import a_creation

from kgitops.fleet.policies.lazy_state import LazyTopics
from kgitops.fleet.policies.state_reader import StateReader
from kgitops.fleet.tables.hydrating import read_state
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.requests import AlterClientQuotaRequest, CreateAclRequest, Request
from kgitops.policy.evaluate.bundle import Level, Policy
from kgitops.policy.evaluate.judge import InProcessEvaluator
from kgitops.policy.evaluate.protocol import PolicyEvaluator
from kgitops.policy.loading import load_rules
from kgitops.policy.worker.messages import Begin, to_bytes
from kgitops.policy.worker.process import Limits
from kgitops.policy.worker.session import WorkerEvaluator

NEW = a_creation("new", 2)
ASKED: Sequence[Request] = (
    NEW,
    a_creation("orders"),
    CreateAclRequest(binding=a_binding()),
    AlterClientQuotaRequest(entity=an_entity(user="new"), quotas={"producer_byte_rate": 1.0}),
    AlterClientQuotaRequest(entity=an_entity(user="alice"), quotas={"producer_byte_rate": 1.0}),
)
MANY = 3_000


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[ClusterState, list[Path]]:
    """A state of some size, and its files."""
    state = a_cluster(
        *(a_topic_state(f"t{number}", partitions=2) for number in range(MANY)),
        a_topic_state("orders"),
        *(a_binding(f"User:u{number}") for number in range(MANY)),
        *(a_quota_state(an_entity(user=user)) for user in ("alice", "bob")),
    )
    files = save(state, tmp_path_factory.mktemp("state"), rows=500)
    return read_state(files, "prod"), files


@pytest.fixture
def readings(monkeypatch) -> list[str]:
    """What is read of files, by the names of the methods that do."""
    found: list[str] = []
    for name in ("__init__", "names", "bodies", "owned", "owners"):
        method = getattr(StateReader, name)

        def noted(self, *given, name=name, method=method):
            found.append(name)
            return method(self, *given)

        monkeypatch.setattr(StateReader, name, noted)
    return found


@pytest.fixture
def judged() -> Iterator[Callable[..., PolicyEvaluator]]:
    """Makes judges, which end with the test."""
    made: list[PolicyEvaluator] = []

    def make(
        *policies: Policy, by: Callable[..., PolicyEvaluator] = InProcessEvaluator
    ) -> PolicyEvaluator:
        rules = load_rules(policies) if by is InProcessEvaluator else policies
        made.append(by(rules))
        return made[-1]

    yield make
    while made:
        made.pop().close()


def test_nothing_is_read_where_no_policy_asks(saved, readings, judged):
    """Requests that are judged for themselves open no file, whatever they are about."""
    state, files = saved
    judge = judged(telling("Nothing"), cel("few", "requested.partitions < 9", "CreateTopic"))
    judge.begin(shown(state, files, ASKED), principal="User:alice")
    assert not any(judgement.stops for judgement in judge.judge_all(ASKED))
    assert readings == []


def test_sums_are_made_of_small_columns_read_once(saved, readings, judged):
    state, files = saved
    judge = judged(cel("budget", "cluster.partitions + partitions('t') < 0", "CreateTopic"))
    judge.begin(shown(state, files, ASKED), principal="User:alice")
    judge.judge_all([NEW, a_creation("newer")])
    assert set(readings) == {"__init__", "names"}
    assert len(readings) == 1 + len(StateReader(files, "prod").pieces)


def test_of_one_other_topic_only_its_piece_is_read(saved, readings, judged):
    state, files = saved
    judge = judged(cel("parent", "topicExists('t7') && !topicExists('t-7')", "CreateTopic"))
    judge.begin(shown(state, files, ASKED), principal="User:alice")
    assert not judge.judge(NEW).stops
    assert readings.count("bodies") == 1


def test_a_topic_is_known_by_its_name_alone(saved, readings):
    """Membership needs the index of names, and not even that for impossible and absent names."""
    state, files = saved
    large = shown(state, files, ASKED)
    assert "orders" in large.topics, "which is at hand"
    for name in ("new", "no such name!", "", "x" * 250, 7):
        assert name not in large.topics
    assert readings == []
    assert "t7" in large.topics
    assert "t-7" not in large.topics
    assert set(readings) == {"__init__", "names"}
    assert [name in large.topics for name in state.topics] == [True] * len(state.topics)


def test_topics_that_are_asked_for_one_by_one_are_read_piece_by_piece(saved, readings):
    """P201-36: a policy that goes over all topics opens no piece twice."""
    state, files = saved
    large = shown(state, files, ASKED)
    assert {name: large.topics[name] for name in state.topics} == state.topics
    assert readings.count("bodies") <= len(StateReader(files, "prod").pieces)


def test_a_large_state_travels_as_its_paths(saved):
    state, files = saved
    whole, large = state, shown(state, files, ASKED)
    sizes = [len(to_bytes(Begin(shown, "User:alice"))) for shown in (whole, large)]
    assert sizes[1] < sizes[0] / 50


@pytest.mark.slow
@pytest.mark.parametrize("class_", ["Counts", "Names", "Walks", "Rights", "Hides"])
@pytest.mark.parametrize("by", [InProcessEvaluator, WorkerEvaluator])
def test_what_cannot_be_read_is_no_verdict(saved, tmp_path, class_, by, judged):
    """A policy that hides it, or denies for it, does not decide; the next state is as ever."""
    state, files = saved
    judging = judged(telling(class_), by=by)
    try:
        lost = [tmp_path / "lost.parquet", *files]
        for _ in range(2):
            judging.begin(shown(state, lost, ASKED), principal="User:alice")
            with pytest.raises(UnreachableError, match=r"lost\.parquet.*; make a new one"):
                judging.judge_all([a_creation(f"new{number}") for number in range(900)])
        with pytest.raises(UnreachableError, match=r"lost\.parquet"):
            judging.judge(NEW)
        judging.begin(shown(state, files, ASKED), principal="User:alice")
        here = judged(telling(class_))
        here.begin(state, principal="User:alice")
        assert judging.judge_all([NEW]) == here.judge_all([NEW])
        assert judging.sound
    finally:
        judging.close()


def test_a_damaged_piece_is_no_verdict(saved, tmp_path, judged):
    state, files = saved
    text = bytearray(files[0].read_bytes())
    text[len(text) // 3] ^= 1
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(text)
    judge = judged(telling("Names"), telling("Rights"), telling("Walks"))
    judge.begin(shown(state, [damaged, files[1]], ASKED), principal="User:alice")
    with pytest.raises(KgitopsError, match="can't be trusted"):
        judge.judge(NEW)


@pytest.mark.slow
def test_reading_is_not_counted_as_the_memory_of_a_policy(saved):
    """Nor what reads it: a policy has as much for itself as on a small cluster."""
    state, files = saved
    said = {}
    for mib in ("900", "1100"):
        judging = WorkerEvaluator([telling("Greedy", mib=mib)])
        try:
            judging.begin(shown(state, files, ASKED), principal="User:alice")
            (ruling,) = judging.judge(NEW)
            said[mib] = ruling.crashed
        finally:
            judging.close()
    assert said == {"900": False, "1100": True}


def test_who_asks_for_nothing_does_not_pay_for_reading(saved):
    """The process that judges imports what reads files only where it does."""
    state, files = saved
    judging = WorkerEvaluator([telling("Files", Level.HARD)])
    try:
        judging.begin(shown(state, files, ASKED), principal="User:alice")
        first, second = (judging.judge(a_creation(name))[0].message for name in ("new", "walk"))
    finally:
        judging.close()
    assert first.split()[1:] == ["False", "0"]
    assert second.split()[1:] == ["True", str(MANY + 1)]
    assert int(first.split()[0]) < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "fails"), [(0.6, False), (30.0, True)], ids=["goes on", "hangs"]
)
def test_reading_is_not_counted_as_the_time_of_a_policy(saved, seconds, fails):
    """It may take long, as long as it goes on; where it hangs, no policy is to blame."""
    _, files = saved
    limits = Limits(seconds=1.0, idle_seconds=6.0)
    stored = SlowlyStored(tuple(files), "prod", seconds)
    large = ClusterState(
        cluster_id="test", backend="embedded", topics=LazyTopics(stored, {}, frozenset({"new"}))
    )
    judging = WorkerEvaluator([cel("sum", "cluster.topics > 0", "CreateTopic")], limits=limits)
    try:
        judging.begin(large, principal="User:alice")
        if fails:
            with pytest.raises(KgitopsError, match="the process that runs the policies took"):
                judging.judge(NEW)
        else:
            began = time.monotonic()
            assert not judging.judge(NEW).stops
            assert time.monotonic() - began > limits.idle_seconds
        assert judging.sound is not fails
    finally:
        judging.close()
