"""Refused, unanswered and slow requests on a real embedded cluster."""

import signal
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import SETTINGS, STEPS, Apply, comparable, open_cluster, prepare
from builders import UID, a_binding, a_desired, a_topic, a_topic_state, plan_of
from msgspec.structs import replace
from used import used

from kgitops.apply.context import ApplySettings
from kgitops.apply.events import StepDone, StepFailed, Waiting, WaitReason
from kgitops.apply.journal.reading import latest_values
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import UnreachableError
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.results import RETRIABLE, ErrorCode, RequestResult
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Plan, PlannedRequest


class World:
    """A prepared cluster whose wire can be disturbed, and its plan."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = FaultyCluster(open_cluster(clock=self.clock))
        self.plan: Plan = prepare(self.cluster, self.clock)
        self.apply = Apply(cluster=self.cluster, clock=self.clock)
        self.cluster.sent.clear()

    def undisturb(self) -> None:
        quiet = FaultyCluster(self.cluster.real)
        quiet.sent = self.cluster.sent
        self.cluster = self.apply.cluster = quiet

    def expected(self) -> object:
        """The result of an undisturbed run."""
        cluster = open_cluster()
        Apply(cluster=cluster).plan(prepare(cluster))
        return comparable(used(cluster))

    def orders(self) -> tuple[PlannedRequest, PlannedRequest]:
        """The two steps of the one topic that takes two."""
        (change,) = [change for change in self.plan.changes if change.address == "topic/orders"]
        first, second = change.requests
        return first, second

    def count(self, kind: type[req.Request], name: str) -> int:
        return sum(isinstance(item, kind) and item.topic == name for item in self.cluster.sent)


@pytest.fixture
def world() -> World:
    return World()


def _is(request: req.Request, kind: type[req.Request], name: str) -> bool:
    return isinstance(request, kind) and request.topic == name


REFUSED = RequestResult(code=ErrorCode.POLICY_VIOLATION, message="too many partitions")


def test_a_refused_step_is_reported_and_what_does_not_depend_on_it_is_done(world: World) -> None:
    world.cluster.refuse = lambda r: REFUSED if _is(r, req.CreateTopicRequest, "new-b") else None
    result = world.apply.plan(world.plan)
    (failure,) = result.failed
    assert result.verdict.exit is ExitCode.PARTIAL
    assert failure.address == "topic/new-b"
    assert failure.sentence == (
        "topic/new-b: the broker answered CreateTopic with POLICY_VIOLATION (44): too many "
        "partitions; remove the cause and run `kgitops apply --resume`, or make a new plan"
    )
    assert (len(result.done), result.not_attempted) == (STEPS - 1, ())
    assert [event.step for event in world.apply.events if isinstance(event, StepFailed)] == [
        failure.step
    ]
    latest = latest_values(world.cluster.registry.read() or ())
    assert latest["run/run-1"]["status"] == "failed"


def test_what_depends_on_a_refused_step_is_not_attempted(world: World) -> None:
    orders = world.orders()
    world.cluster.refuse = lambda r: REFUSED if r == orders[0].request else None
    result = world.apply.plan(world.plan)
    assert [failure.step for failure in result.failed] == [orders[0].id]
    assert result.not_attempted == (orders[1].id,)
    assert (len(result.done), result.planned) == (STEPS - 2, STEPS)
    owner = world.cluster.read_state().registry.owners["topic/orders"]
    assert owner.last_applied["partitions"] == 2


def test_a_change_is_remembered_only_once_all_of_its_steps_are_done(world: World) -> None:
    first, second = world.orders()
    world.cluster.refuse = lambda r: REFUSED if r == second.request else None
    result = world.apply.plan(world.plan)
    assert first.id in result.done
    assert [failure.step for failure in result.failed] == [second.id]
    state = world.cluster.read_state()
    assert state.registry
    assert state.registry.owners["topic/orders"].last_applied["partitions"] == 2


def test_a_resume_completes_once_the_cause_is_removed(world: World) -> None:
    world.cluster.refuse = lambda r: REFUSED if isinstance(r, req.AlterTopicRequest) else None
    first = world.apply.plan(world.plan)
    assert first.verdict.exit is ExitCode.PARTIAL
    world.undisturb()
    result = world.apply.resume(UID)
    assert result is not None
    assert (result.verdict.exit, result.planned) == (ExitCode.SUCCESS, STEPS)
    assert set(result.earlier) == set(first.done)
    assert comparable(used(world.cluster)) == world.expected()


def test_a_resume_that_meets_the_cause_again_fails_again(world: World) -> None:
    world.cluster.refuse = lambda r: REFUSED if _is(r, req.CreateTopicRequest, "new-b") else None
    world.apply.plan(world.plan)
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.PARTIAL
    assert [failure.address for failure in result.failed] == ["topic/new-b"]
    assert len(result.done) == STEPS - 1


@pytest.mark.parametrize("code", sorted(RETRIABLE))
def test_a_retriable_answer_is_retried_until_it_succeeds(world: World, code: ErrorCode) -> None:
    """F590-11: NOT_CONTROLLER too, until there is one."""
    left = [RequestResult(code=code)] * 3
    world.cluster.refuse = lambda r: (
        left.pop() if left and _is(r, req.CreateTopicRequest, "new-b") else None
    )
    if code is ErrorCode.NETWORK_EXCEPTION:
        left.pop()  # nobody knows whether that one arrived, so it is sent again only once
        left.pop()
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
    assert not left
    assert world.count(req.CreateTopicRequest, "new-b") == 1
    waits = [event for event in world.apply.events if isinstance(event, Waiting)]
    assert {event.reason for event in waits} == {WaitReason.RETRY}


def test_a_retriable_answer_is_retried_no_longer_than_the_timeout(world: World) -> None:
    """A4-07, F590-12: then the failure says about what it was, and the code."""
    world.cluster.refuse = lambda r: (
        RequestResult(code=ErrorCode.NOT_CONTROLLER)
        if _is(r, req.CreateTopicRequest, "new-b")
        else None
    )
    before = world.clock.monotonic()
    result = world.apply.plan(world.plan)
    waited = world.clock.monotonic() - before
    assert [failure.address for failure in result.failed] == ["topic/new-b"]
    assert "NOT_CONTROLLER (41)" in result.failed[0].sentence
    assert SETTINGS.timeout_ms / 1000 <= waited < SETTINGS.timeout_ms / 1000 + 5


def test_a_quota_is_obeyed_for_as_long_as_it_takes(world: World) -> None:
    """F590-54, KIP-599: waits that together outlast the timeout and the lease, under the lock."""
    told_ms = SETTINGS.lease_ms * 2
    left = [RequestResult(code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, retry_after_ms=told_ms)] * 3
    asked: list[float] = []

    def throttle(request: req.Request) -> RequestResult | None:
        if not _is(request, req.CreateTopicRequest, "new-b"):
            return None
        asked.append(world.clock.monotonic())
        return left.pop() if left else None

    world.cluster.refuse = throttle
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
    assert not left
    assert world.count(req.CreateTopicRequest, "new-b") == 1
    assert all(after - before >= told_ms / 1000 for before, after in pairwise(asked))


def test_a_wait_for_a_quota_can_be_interrupted(world: World) -> None:
    hours = RequestResult(code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, retry_after_ms=7_200_000)
    world.cluster.refuse = lambda r: hours if _is(r, req.CreateTopicRequest, "new-b") else None
    before = world.clock.monotonic()

    def waited() -> float:
        return world.clock.monotonic() - before

    world.apply.interrupted = lambda: signal.SIGINT if waited() > 600 else None
    result = world.apply.plan(world.plan)
    assert 600 < waited() < 610
    assert [failure.address for failure in result.failed] == ["topic/new-b"]


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT])
def test_the_lock_is_kept_and_outlasts_each_request_however_long_a_step_takes(
    world: World, code: ErrorCode
) -> None:
    world.apply.settings = replace(SETTINGS, lease_ms=SETTINGS.timeout_ms + 1000)
    world.cluster.see = lambda state: replace(
        state, topics={name: t for name, t in state.topics.items() if name != "new-a"}
    )
    world.cluster.refuse = lambda r: (
        RequestResult(code=code) if _is(r, req.CreateTopicRequest, "new-b") else None
    )
    left_ms = []

    def note_lease(_: object) -> None:
        registry = world.cluster.real.registry
        (claim,) = [
            entry
            for entry in registry.read() or ()
            if entry.value and entry.key.startswith("lock/")
        ]
        left_ms.append(claim.timestamp_ms + claim.value["lease_ms"] - registry.now_ms())

    world.cluster.before_read = lambda: world.clock.sleep(3)
    world.cluster.before_send = note_lease
    before = world.clock.monotonic()
    result = world.apply.plan(world.plan)
    assert {failure.address for failure in result.failed} == {"topic/new-a", "topic/new-b"}
    assert world.clock.monotonic() - before > SETTINGS.timeout_ms / 1000 * 2
    assert ExitCode.LOCKED not in [reason.exit for reason in result.verdict.reasons]
    assert len(result.done) == STEPS - 2
    assert min(left_ms) > SETTINGS.timeout_ms


def test_a_step_that_somebody_else_did_meanwhile_is_not_ours(world: World) -> None:
    real = world.cluster.real

    def somebody(_: object) -> None:
        world.cluster.before_send = lambda _: None
        theirs = req.CreateAclRequest(binding=a_binding("User:billing"))
        real.execute([theirs], validate_only=False, principal="User:other")

    world.cluster.before_send = somebody
    result = world.apply.plan(world.plan)
    (failure,) = result.failed
    assert failure.sentence == (
        "acl/User:billing/Allow/Read/topic/literal/orders@*: the object was absent and is present, "
        "so CreateAcl was not sent; make a new plan"
    )
    state = world.cluster.read_state()
    assert state.registry
    assert failure.address not in state.registry.owners


def test_what_somebody_changed_before_its_adoption_is_not_recorded(world: World) -> None:
    real = world.cluster.real

    def somebody(_: object) -> None:
        world.cluster.before_send = lambda _: None
        topic_id = real.read_state().topics["found"].topic_id or ""
        theirs = req.DeleteTopicRequest(topic="found", topic_id=topic_id)
        real.execute([theirs], validate_only=False, principal="User:other")

    world.cluster.before_send = somebody
    result = world.apply.plan(world.plan)
    assert [failure.step for failure in result.failed] == ["topic/found"]
    assert "the object was present and is absent" in result.failed[0].sentence
    state = world.cluster.read_state()
    assert state.registry
    assert "topic/found" not in state.registry.owners


@pytest.mark.parametrize("answered", [True, False])
def test_after_a_signal_nothing_is_sent_a_second_time(world: World, *, answered: bool) -> None:
    caught: list[int] = []
    sends = 0

    def count(_: object) -> None:
        nonlocal sends
        sends += 1
        caught.append(2)
        if not answered:
            raise UnreachableError("the connection broke")

    world.apply.settings = replace(SETTINGS, parallelism=1)
    world.apply.interrupted = lambda: caught[0] if caught else None
    world.cluster.before_send = count
    world.cluster.refuse = lambda _: RequestResult(code=ErrorCode.NOT_CONTROLLER)
    result = world.apply.plan(world.plan)
    assert (result.verdict.exit, sends) == (ExitCode.INTERRUPTED, 1)
    assert (len(result.failed), result.done) == (2, ())
    assert result.planned == STEPS
    said = "answered CreateTopic with NOT_CONTROLLER (41)" if answered else "no answer came"
    assert all(said in failure.sentence for failure in result.failed)


def test_an_authorizer_that_failed_after_its_work_did_it(world: World) -> None:
    """A4-90: such an answer says nothing, so look."""
    real = world.cluster.real

    def fails_late(request: req.Request) -> RequestResult | None:
        if not isinstance(request, req.CreateAclRequest):
            return None
        real.execute([request], validate_only=False, principal="User:kgitops")
        return RequestResult(code=ErrorCode.UNKNOWN_SERVER_ERROR)

    world.cluster.refuse = fails_late
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS


def test_an_authorizer_that_failed_before_its_work_is_reported(world: World) -> None:
    """A4-90."""
    world.cluster.real.faults.authorizer_fails = True
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert {failure.address[:4] for failure in result.failed} == {"acl/"}
    assert all("UNKNOWN_SERVER_ERROR (-1)" in failure.sentence for failure in result.failed)


def test_a_cluster_that_cannot_be_read_for_a_moment_is_read_again(world: World) -> None:
    unreadable = [True] * 5

    def fail() -> None:
        if world.cluster.batches and unreadable:
            unreadable.pop()
            raise UnreachableError("the connection broke")

    world.cluster.batches.clear()
    world.cluster.before_read = fail
    before = world.clock.ahead
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
    assert not unreadable
    retry = timedelta(milliseconds=ApplySettings().retry_ms)
    assert world.clock.ahead - before >= 5 * retry, "it waits before it reads again"


def test_a_cluster_that_cannot_be_read_before_anything_is_sent_is_not_waited_for(
    world: World,
) -> None:
    reads = 0

    def fail() -> None:
        nonlocal reads
        reads += 1
        if reads == 3:
            raise UnreachableError("the connection broke")

    world.cluster.before_read = fail
    with pytest.raises(UnreachableError):
        world.apply.plan(world.plan)
    assert (reads, world.cluster.sent) == (3, [])


def test_a_second_sending_has_as_much_time_as_the_first(world: World) -> None:
    """Both take nearly the whole timeout, and the second takes effect a little later."""
    created: list[float] = []

    def slow(request: req.Request) -> RequestResult | None:
        if not _is(request, req.CreateTopicRequest, "new-b"):
            return None
        world.clock.sleep(SETTINGS.timeout_ms / 1000 - 1)
        created.append(world.clock.monotonic())
        return RequestResult(code=ErrorCode.REQUEST_TIMED_OUT)

    def appear() -> None:
        if len(created) == 2 and world.clock.monotonic() > created[1] + 0.5:
            created.append(0)
            request = next(p.request for p in world.plan.requests if _is_new_b(p.request))
            world.cluster.real.execute([request], validate_only=False, principal="User:kgitops")

    def _is_new_b(request: req.Request) -> bool:
        return _is(request, req.CreateTopicRequest, "new-b")

    world.apply.settings = replace(SETTINGS, lease_ms=200_000)
    world.cluster.refuse = slow
    world.cluster.before_read = appear
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
    assert len(created) == 3


def test_a_step_whose_reply_was_lost_is_done_and_not_sent_again(world: World) -> None:
    def lose(requests: Sequence[req.Request]) -> None:
        raise UnreachableError("the connection broke")

    world.cluster.after_send = lose
    result = world.apply.plan(world.plan)
    assert (result.verdict.exit, len(result.done)) == (ExitCode.SUCCESS, STEPS)
    assert len(world.cluster.sent) == len(world.plan.requests)
    assert comparable(used(world.cluster)) == world.expected()


def test_a_step_that_never_arrived_is_sent_again_once(world: World) -> None:
    lost: list[req.Request] = []

    def lose(requests: Sequence[req.Request]) -> None:
        new = [request for request in requests if request not in lost]
        lost.extend(new)
        if new:
            raise UnreachableError("the connection broke")

    world.cluster.before_send = lose
    result = world.apply.plan(world.plan)
    assert (result.verdict.exit, len(lost)) == (ExitCode.SUCCESS, len(world.plan.requests))
    assert len(world.cluster.sent) == len(world.plan.requests)


def test_a_step_that_never_arrives_stays_open_and_a_resume_does_it(world: World) -> None:
    sends = 0

    def lose(requests: Sequence[req.Request]) -> None:
        nonlocal sends
        if any(_is(request, req.CreateTopicRequest, "new-b") for request in requests):
            sends += 1
            raise UnreachableError("the connection broke")

    world.cluster.before_send = lose
    result = world.apply.plan(world.plan)
    assert sends == 2
    assert result.verdict.exit is ExitCode.PARTIAL
    assert {failure.address for failure in result.failed} >= {"topic/new-b"}
    assert "the connection broke" in result.failed[0].sentence
    world.undisturb()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert world.count(req.CreateTopicRequest, "new-b") == 1
    assert comparable(used(world.cluster)) == world.expected()


def test_a_timed_out_request_that_took_effect_is_done(world: World) -> None:
    """A4-42, A4-102: a timeout leaves the outcome unknown, so look."""
    real = world.cluster.real

    def late(request: req.Request) -> RequestResult | None:
        if not isinstance(request, req.CreateTopicRequest):
            return None
        world.cluster.sent.append(request)
        real.execute([request], validate_only=False, principal="User:kgitops")
        return RequestResult(code=ErrorCode.REQUEST_TIMED_OUT)

    world.cluster.refuse = late
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.SUCCESS
    assert world.count(req.CreateTopicRequest, "new-a") == 1


def test_a_request_that_lands_late_does_not_hurt_its_second_sending(world: World) -> None:
    """The first sending takes effect after the look: TOPIC_ALREADY_EXISTS then means done."""
    first: list[req.Request] = []
    real = world.cluster.real

    def lands_late(requests: Sequence[req.Request]) -> None:
        creates = [request for request in requests if isinstance(request, req.CreateTopicRequest)]
        if any(request not in first for request in creates):
            first.extend(creates)
            raise UnreachableError("no answer in time")
        for request in creates:
            real.execute([request], validate_only=False, principal="User:kgitops")

    world.cluster.before_send = lands_late
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.SUCCESS
    assert comparable(used(world.cluster)) == world.expected()


def test_a_topic_that_somebody_else_created_just_before_is_not_ours(world: World) -> None:
    """The broker's clear answer to the only sending: even an equal topic is somebody else's."""
    real = world.cluster.real

    def somebody(requests: Sequence[req.Request]) -> None:
        for request in requests:
            if _is(request, req.CreateTopicRequest, "new-b"):
                real.execute([request], validate_only=False, principal="User:other")

    world.cluster.before_send = somebody
    result = world.apply.plan(world.plan)
    assert [failure.address for failure in result.failed] == ["topic/new-b"]
    assert "TOPIC_ALREADY_EXISTS (36)" in result.failed[0].sentence
    state = world.cluster.read_state()
    assert state.registry
    assert "topic/new-b" not in state.registry.owners


def test_a_conflicting_topic_after_a_lost_request_is_never_overwritten(world: World) -> None:
    real = world.cluster.real

    def somebody(requests: Sequence[req.Request]) -> None:
        for request in requests:
            if _is(request, req.CreateTopicRequest, "new-b"):
                other = RequestedTopicState(name="new-b", topic_id=None, assignment=((1,),))
                theirs = req.CreateTopicRequest(topic="new-b", requested_state=other)
                real.execute([theirs], validate_only=False, principal="User:other")
                raise UnreachableError("no answer in time")

    world.cluster.before_send = somebody
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert "neither as before nor as asked for" in result.failed[0].sentence
    world.undisturb()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.PARTIAL
    assert "nothing was overwritten" in resumed.failed[0].sentence
    assert world.cluster.read_state().topics["new-b"].num_partitions == 1


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
def test_a_topic_that_is_gone_when_its_deletion_arrives_is_deleted(
    world: World, code: ErrorCode
) -> None:
    real = world.cluster.real

    def gone(request: req.Request) -> RequestResult | None:
        if not isinstance(request, req.DeleteTopicRequest):
            return None
        real.execute([request], validate_only=False, principal="User:other")
        return RequestResult(code=code)

    world.cluster.refuse = gone
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS


def test_a_topic_made_anew_under_the_name_survives(world: World) -> None:
    """The plan saw another topic id: nothing but that id is deleted."""
    real = world.cluster.real

    def anew(requests: Sequence[req.Request]) -> None:
        for request in requests:
            if isinstance(request, req.DeleteTopicRequest):
                real.execute([request], validate_only=False, principal="User:other")
                state = RequestedTopicState(name="old", topic_id=None, assignment=((3,),))
                theirs = req.CreateTopicRequest(topic="old", requested_state=state)
                real.execute([theirs], validate_only=False, principal="User:other")

    world.cluster.before_send = anew
    world.apply.plan(world.plan)
    assert world.cluster.read_state().topics["old"].assignment == ((3,),)


def test_a_step_counts_only_once_its_result_is_visible(world: World) -> None:
    """A4-101: other brokers follow the controller."""
    reads = 0

    def lag(state: ClusterState) -> ClusterState:
        nonlocal reads
        if "new-a" in state.topics:
            reads += 1
            if reads <= 5:
                topics = {name: t for name, t in state.topics.items() if name != "new-a"}
                return replace(state, topics=topics)
        return state

    world.cluster.see = lag
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
    waits = [event for event in world.apply.events if isinstance(event, Waiting)]
    assert [event.reason for event in waits] == [WaitReason.VISIBLE] * 5
    assert world.count(req.CreateTopicRequest, "new-a") == 1


def test_a_deletion_that_takes_its_time_is_waited_for(world: World) -> None:
    """A4-63: the broker accepts a deletion before it is finished."""
    embedded = world.cluster.real
    embedded.faults.hold_deletions = True
    asleep: list[float] = []

    def sleep(seconds: float) -> None:
        asleep.append(seconds)
        if len(asleep) == 3:
            embedded.release()

    world.clock.sleep = sleep
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.SUCCESS
    assert len(asleep) >= 3
    assert "old" not in world.cluster.read_state().topics


def test_a_deletion_that_is_never_finished_stays_open(world: World) -> None:
    embedded = world.cluster.real
    embedded.faults.hold_deletions = True
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert [failure.address for failure in result.failed] == ["topic/old"]
    embedded.release()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert world.count(req.DeleteTopicRequest, "old") == 1


def test_a_resume_waits_for_a_deletion_that_is_still_under_way(world: World) -> None:
    embedded = world.cluster.real
    embedded.faults.hold_deletions = True
    world.apply.plan(world.plan)
    world.cluster.batches.clear()
    asleep: list[float] = []

    def sleep(seconds: float) -> None:
        asleep.append(seconds)
        if len(asleep) == 3:
            embedded.release()

    world.clock.sleep = sleep
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert world.cluster.batches == []


def test_a_topic_without_leaders_is_timed_out_by_the_broker_and_found_when_looked_for(
    world: World,
) -> None:
    """A4-26, A4-42: the unfinished get REQUEST_TIMED_OUT and may still appear."""
    world.cluster.real.faults.leaderless_topics = frozenset({"new-a"})
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.SUCCESS
    assert world.count(req.CreateTopicRequest, "new-a") == 1


def test_what_never_becomes_visible_stays_open_and_a_resume_looks_first(world: World) -> None:
    world.cluster.see = lambda state: replace(
        state, topics={name: t for name, t in state.topics.items() if name != "new-a"}
    )
    result = world.apply.plan(world.plan)
    assert [failure.address for failure in result.failed] == ["topic/new-a"]
    assert "it is not visible after 30 s" in result.failed[0].sentence
    world.undisturb()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert world.count(req.CreateTopicRequest, "new-a") == 1


def test_a_large_batch_may_take_its_time_as_long_as_more_and_more_is_visible() -> None:
    """A4-101: a broker takes half a minute to show some thousand topics, one after the other."""
    clock = FakeClock()
    cluster = FaultyCluster(open_cluster(clock=clock))
    names = [f"t{number:02d}" for number in range(60)]

    def one_more_every_3_s(state: ClusterState) -> ClusterState:
        shown = names[: int(clock.monotonic() / 3)]
        return replace(state, topics={n: t for n, t in state.topics.items() if n in shown})

    cluster.see = one_more_every_3_s
    apply = Apply(cluster=cluster, clock=clock, settings=ApplySettings())
    result = apply.desired(a_desired(*(a_topic(name) for name in names)))
    assert result.verdict.exit is ExitCode.SUCCESS
    assert len(result.done) == len(names)
    assert clock.monotonic() > 5 * ApplySettings().timeout_ms / 1000
    assert [request.topic for request in cluster.sent] == names  # once each


def test_what_somebody_changed_meanwhile_fails_alone(world: World) -> None:
    """Something was sent already, so the rest goes on and the exit is 6."""
    orders = world.orders()

    def see(state: ClusterState) -> ClusterState:
        topic = state.topics.get("orders")
        if topic and topic.num_partitions == 4:
            other = a_topic_state(
                "orders",
                assignment=topic.assignment,
                configs={"retention.ms": "777"},
                topic_id=topic.topic_id,
            )
            return replace(state, topics={**state.topics, "orders": other})
        return state

    world.cluster.see = see
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert ExitCode.STALE in [reason.exit for reason in result.verdict.reasons]
    assert [failure.step for failure in result.failed] == [orders[1].id]
    assert "configs.retention.ms was '1000' and is '777'" in result.failed[0].sentence


def test_a_cluster_that_goes_away_after_the_first_request_stops_the_run_with_6(
    world: World,
) -> None:
    def away(requests: Sequence[req.Request]) -> None:
        def gone(*_: object) -> None:
            raise UnreachableError("the cluster is gone")

        world.cluster.before_read = gone

    world.cluster.after_send = away
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert ExitCode.UNREACHABLE in [reason.exit for reason in result.verdict.reasons]
    assert result.done == ()
    assert len(result.failed) == len(world.cluster.sent)
    assert result.planned == STEPS
    world.undisturb()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert len(world.cluster.sent) == len(world.plan.requests)


def test_a_cluster_that_goes_away_before_an_adoption_is_recorded_stops_the_run_with_6(
    world: World,
) -> None:
    def gone() -> None:
        if any(isinstance(event, StepDone) for event in world.apply.events):
            raise UnreachableError("the cluster is gone")

    desired = a_desired(a_topic("new-a"), a_topic("found"), whole=False)
    world.cluster.before_read = gone
    result = world.apply.plan(plan_of(desired, world.cluster.real.read_state()))
    assert result.verdict.exit is ExitCode.PARTIAL
    assert ExitCode.UNREACHABLE in [reason.exit for reason in result.verdict.reasons]
    assert (len(result.done), result.not_attempted) == (1, ("topic/found",))


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_disk_that_is_full_stops_the_run_where_it_is(world: World, after: int) -> None:
    """No matter which append fails: a plan that was not begun exits with 8, a begun one with 6."""
    appends = 0

    def full(records: object) -> None:
        nonlocal appends
        appends += 1
        if appends > after:
            raise UnreachableError("the disk is full")

    desired = a_desired(a_topic("found"), a_topic("new-a"), whole=False)
    plan = plan_of(desired, world.cluster.real.read_state())
    world.cluster.before_append = full
    if after == 1:
        with pytest.raises(UnreachableError, match="the disk is full"):
            world.apply.plan(plan)
        assert world.cluster.sent == []
    else:
        result = world.apply.plan(plan)
        assert result.verdict.exit is ExitCode.PARTIAL
        assert result.planned == 2
        assert len(result.done) == after - 2
    world.undisturb()
    world.clock.sleep(100)
    resumed = world.apply.resume(UID)
    assert (resumed is None) == (after == 1)
    if resumed:
        assert resumed.verdict.exit is ExitCode.SUCCESS
        assert world.count(req.CreateTopicRequest, "new-a") == 1


def test_an_outcome_that_cannot_be_written_stops_the_run_and_a_resume_finds_it(
    world: World,
) -> None:
    def broken(records: object) -> None:
        raise UnreachableError("the disk is full")

    def after(requests: Sequence[req.Request]) -> None:
        world.cluster.before_append = broken

    world.cluster.after_send = after
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert (
        "CreateTopic: its outcome could not be written to the journal; "
        in result.failed[0].sentence
    )
    why = [reason.sentence for reason in result.verdict.reasons]
    assert [sentence for sentence in why if "CreateTopic" in sentence] == []
    assert why.count("the disk is full") == 1  # once, not for each step
    assert (result.done, result.planned) == ((), STEPS)
    world.undisturb()
    world.clock.sleep(100)  # the lock could not be released either
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert len(world.cluster.sent) == len(world.plan.requests)


@pytest.mark.parametrize(("signal", "exit_code"), [(2, 130), (15, 143)])
def test_a_signal_lets_the_request_on_its_way_finish_and_lists_the_rest(
    world: World, signal: int, exit_code: int
) -> None:
    caught: list[int] = []
    world.cluster.before_send = lambda _: caught.append(signal)
    world.apply.interrupted = lambda: caught[0] if caught else None
    result = world.apply.plan(world.plan)
    assert result.verdict.exit == exit_code
    assert result.failed == ()
    assert len(result.done) == len(world.cluster.sent) > 0
    assert len(result.done) + len(result.not_attempted) == STEPS
    latest = latest_values(world.cluster.registry.read() or ())
    assert latest["run/run-1"]["status"] == "open"
    world.undisturb()
    world.apply.interrupted = lambda: None
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert comparable(used(world.cluster)) == world.expected()


def test_a_signal_before_the_first_request_leaves_no_run_behind(world: World) -> None:
    world.apply.interrupted = lambda: 2
    result = world.apply.plan(world.plan)
    assert (result.verdict.exit, result.done, world.cluster.sent) == (ExitCode.INTERRUPTED, (), [])
    assert [reason.exit for reason in result.verdict.reasons] == [ExitCode.INTERRUPTED]
    latest = latest_values(world.cluster.registry.read() or ())
    assert not [key for key in latest if key.startswith(("lock/", "run/run-1", "nonce/nonce-1"))]
    world.apply.interrupted = lambda: None
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS


def test_a_signal_after_the_last_step_changes_nothing(world: World) -> None:
    def signal() -> int | None:
        done = [event for event in world.apply.events if isinstance(event, StepDone)]
        return 2 if len(done) == STEPS else None

    world.apply.interrupted = signal
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS
