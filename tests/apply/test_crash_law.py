"""Law: whatever is applied, and wherever it is cut off, resumes end where one run ends."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import DELETE, Apply, comparable, open_cluster, sealed_now, spelt
from builders import UID, a_binding, a_desired, a_quota, a_topic, an_acl, plan_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples
from used import used

from kgitops.apply.context import ApplySettings
from kgitops.apply.journal.journal import Journal
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.run.runner import Runner
from kgitops.cluster.port import Cluster
from kgitops.desired.state import DesiredState
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.file import SealedPlan

CONFIGS = st.dictionaries(
    st.sampled_from(["retention.ms", "max.message.bytes", "min.insync.replicas"]),
    st.sampled_from(["1", "2"]),
    max_size=2,
)
TOPICS = st.builds(
    a_topic,
    st.sampled_from(["a", "b", "c", "d"]),
    partitions=st.integers(1, 3),
    replication_factor=st.integers(1, 3),
    configs=CONFIGS,
    deletion_policy=st.sampled_from([DELETE, DeletionPolicy.ORPHAN]),
)
ACLS = st.sampled_from("xyz").map(lambda name: an_acl(a_binding(f"User:{name}")))
QUOTAS = st.integers(1, 3).map(lambda rate: a_quota(consumer_byte_rate=rate))
DESIRED = st.lists(
    st.one_of(TOPICS, ACLS, QUOTAS), max_size=8, unique_by=lambda item: item.address
).map(lambda objects: a_desired(*objects))


class Killed(BaseException):
    """The process ends here."""


def _applied(cluster: Cluster, clock: FakeClock, *stages: DesiredState) -> SealedPlan | None:
    """Apply all but the last, and seal a plan for the last where one can be made."""
    for number, desired in enumerate(stages[:-1]):
        plan = plan_of(desired, cluster.read_state())
        if not plan.verdict.stops:
            sealed = sealed_now(plan, clock, f"nonce-{number}")
            assert Apply(cluster=cluster).plan(sealed, f"run-{number}").verdict.exit == 0
    plan = plan_of(stages[-1], cluster.read_state())
    return None if plan.verdict.stops or not plan.changes else sealed_now(plan, clock, "last")


def _kill_at(cluster: FaultyCluster, boundary: int) -> None:
    left = boundary

    def pass_boundary(_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    cluster.before_send = cluster.after_send = pass_boundary
    cluster.before_append = cluster.after_append = pass_boundary


@settings(max_examples=examples(100))
@given(
    DESIRED,
    DESIRED,
    DESIRED,
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([1, 3]),
)
def test_cut_off_anywhere_any_number_of_times_then_resumed_it_ends_like_one_run(
    first: DesiredState,
    second: DesiredState,
    third: DesiredState,
    boundaries: Sequence[int],
    batch_requests: int,
    parallelism: int,
) -> None:
    """Brokers place nothing by chance and ids are compared as names, so the ends are equal."""
    stages = (first, second, third)
    clock = FakeClock()
    undisturbed = open_cluster()
    sealed = _applied(undisturbed, clock, *stages)
    if sealed is None:
        return
    assert Apply(cluster=undisturbed).plan(sealed).verdict.exit is ExitCode.SUCCESS

    cluster = FaultyCluster(open_cluster(clock=clock))
    sealed = _applied(cluster, clock, *stages)
    assert sealed
    cluster.sent.clear()
    small = ApplySettings(parallelism=parallelism, batch_requests=batch_requests)
    for boundary in boundaries:
        _kill_at(cluster, boundary)
        _go_on(cluster, clock, small, sealed)
        clock.sleep(3600)
    _kill_at(cluster, 10_000)
    _go_on(cluster, clock, small, sealed)

    assert comparable(used(cluster)) == comparable(used(undisturbed))
    planned = [planned.request for planned in sealed.plan.requests]
    assert spelt(cluster.sent) == spelt(planned)
    assert plan_of(third, cluster.read_state()).changes == ()


def _go_on(
    cluster: FaultyCluster, clock: FakeClock, small: ApplySettings, sealed: SealedPlan
) -> None:
    apply = Apply(cluster=cluster, clock=clock, settings=small)
    began = f"nonce/{sealed.nonce}" in latest_values(cluster.registry.read() or ())
    try:
        result = apply.resume(UID) if began else apply.plan(sealed)
    except Killed:
        return
    assert result is None or result.verdict.exit is ExitCode.SUCCESS, result


def _forget_what_may_have_been_sent() -> AbstractContextManager[object]:
    return patch.object(
        Runner, "resolve", lambda runner: setattr(runner, "_maybe_applied", frozenset())
    )


def _send_before_the_intent_is_written() -> AbstractContextManager[object]:
    return patch.object(Journal, "intend", lambda *_: None)


@pytest.mark.parametrize(
    "mutant", [_forget_what_may_have_been_sent, _send_before_the_intent_is_written]
)
def test_the_law_catches_a_resume_that_does_not_know_what_was_begun(
    mutant: Callable[[], AbstractContextManager[object]],
) -> None:
    law = test_cut_off_anywhere_any_number_of_times_then_resumed_it_ends_like_one_run.hypothesis  # type: ignore[attr-defined]
    wanted = a_desired(a_topic("a", deletion_policy=DELETE), an_acl(a_binding("User:x")))

    def check(boundary: int) -> None:
        law.inner_test(a_desired(), a_desired(), wanted, [boundary], 1, 1)

    for boundary in range(10):
        check(boundary)
    with mutant(), pytest.raises(AssertionError):  # noqa: PT012 (at one boundary or another)
        for boundary in range(10):
            check(boundary)
