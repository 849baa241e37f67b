"""Reassignments under a throttle: waited for, gone on with, cancelled if asked, never left limited.

The embedded cluster's ``hold_reassignments`` stands in for data that takes its time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, open_cluster, sealed_now
from builders import ALL_CAPABILITIES, UID, a_desired, a_topic, an_acl, plan_of

from kgitops.apply.events import Noted, StepDone, Waiting, WaitReason
from kgitops.apply.result import ApplyResult
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredObject
from kgitops.model.requests import AlterBrokerRequest, AlterStep, AlterTopicRequest, Request
from kgitops.model.resources.topics import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.plan.document.plan import Plan
from kgitops.plan.planner import make_plan
from kgitops.workflow.reading import find_pending_undo_requests

RATE = 1000
SIGINT = 2


def wanted(*objects: DesiredObject) -> DesiredState:
    return a_desired(*objects, safety=Safety(replication_throttle=RATE))


ONE = a_topic(assignment=((1,), (2,)))
THREE = a_topic(assignment=((1, 2, 3), (2, 3, 1)), configs={"min.insync.replicas": "2"})


@dataclass
class Stage:
    """A cluster with the topic on one replica, whose moves take until ``arrive``."""

    clock: FakeClock = field(default_factory=FakeClock)
    cluster: EmbeddedCluster = field(init=False)
    faulty: FaultyCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = open_cluster(clock=self.clock)
        first = sealed_now(plan_of(wanted(ONE), self.cluster.read_state()), self.clock, "nonce-0")
        result = Apply(cluster=self.cluster, clock=self.clock).plan(first, "run-0")
        assert result.verdict.exit == 0
        self.cluster.faults.hold_reassignments = True
        self.faulty = FaultyCluster(self.cluster)

    def apply(self, **how: object) -> Apply:
        return Apply(cluster=self.faulty, clock=self.clock, **how)  # type: ignore[arg-type]

    @property
    def state(self) -> ClusterState:
        return self.cluster.read_state()

    def arrive(self) -> None:
        self.cluster.release()

    def is_moving(self) -> bool:
        return self.state.topics["orders"].reassigning

    def is_throttled(self) -> bool:
        brokers = any(broker.throttles for broker in self.state.brokers)
        marks = {LEADER_REPLICAS, FOLLOWER_REPLICAS} & set(self.state.topics["orders"].configs)
        assert brokers == bool(marks), "either all of the throttle is there or nothing"
        return brokers


@pytest.fixture
def stage() -> Stage:
    return Stage()


def on_wait(stage: Stage, act: Callable[[], None], after: int = 1) -> Callable[[object], None]:
    """Act once the run waits for data for the ``after``-th time."""
    seen = 0

    def listen(event: object) -> None:
        nonlocal seen
        if isinstance(event, Waiting) and event.reason is WaitReason.MOVING:
            seen += 1
            if seen == after:
                act()

    return listen


class Listening(list[object]):
    """Events, each heard as it comes."""

    def __init__(self, heard: Callable[[object], None]) -> None:
        super().__init__()
        self._heard = heard

    def append(self, event: object) -> None:
        super().append(event)
        self._heard(event)


def steps_sent(stage: Stage) -> list[str]:
    return [_name(request) for request in stage.faulty.sent]


def _name(request: Request) -> str:
    match request:
        case AlterBrokerRequest():
            on = any(value is not None for value in request.configs.values())
            return f"broker {request.broker} {'on' if on else 'off'}"
        case AlterTopicRequest(step=AlterStep.CONFIGS):
            asked = request.requested_state.requested_configs
            if LEADER_REPLICAS in asked:
                return "marks on" if asked[LEADER_REPLICAS] else "marks off"
            return "configs"
        case AlterTopicRequest():
            return str(request.step)
        case _:
            return type(request).__name__


def test_a_move_is_throttled_from_before_it_begins_until_data_is_copied(stage: Stage) -> None:
    seen: list[ClusterState] = []

    def look_and_finish() -> None:
        seen.append(stage.state)
        assert "min.insync.replicas" not in stage.state.topics["orders"].configs
        stage.arrive()

    apply = stage.apply(events=Listening(on_wait(stage, look_and_finish)))
    result = apply.desired(wanted(THREE))
    assert result.verdict.exit == 0, result.verdict
    (during,) = seen
    assert {broker.id: dict(broker.throttles or {}) for broker in during.brokers} == {
        1: {LEADER_RATE: "1000", FOLLOWER_RATE: "1000"},
        2: {LEADER_RATE: "1000", FOLLOWER_RATE: "1000"},
        3: {FOLLOWER_RATE: "1000"},
    }
    marks = during.topics["orders"].configs
    assert marks[LEADER_REPLICAS] == "0:1,1:2"
    assert marks[FOLLOWER_REPLICAS] == "0:2,0:3,1:1,1:3"
    assert not stage.is_throttled()
    assert stage.state.topics["orders"].configs == {"min.insync.replicas": "2"}
    sent = steps_sent(stage)
    move = sent.index("replicas")
    assert set(sent[:move]) == {"broker 1 on", "broker 2 on", "broker 3 on", "marks on"}
    rest = ["broker 1 off", "broker 2 off", "broker 3 off", "configs", "marks off"]
    assert sorted(set(sent[move + 1 :])) == rest
    assert not plan_of(wanted(THREE), stage.state).changes


def test_data_may_take_hours_and_the_lock_is_kept(stage: Stage) -> None:
    """The lease is a minute: only renewals can keep it."""
    begun = stage.clock.monotonic()

    def tick() -> None:
        if stage.clock.monotonic() - begun > 7200:
            stage.arrive()

    stage.faulty.before_read = tick
    result = stage.apply().desired(wanted(THREE))
    assert result.verdict.exit == 0, result.verdict
    assert stage.clock.monotonic() - begun > 7200


def test_what_does_not_depend_on_the_move_goes_on_meanwhile(stage: Stage) -> None:
    plan = plan_of(wanted(THREE, an_acl()), stage.state)
    done_before: list[str] = []
    apply = stage.apply()

    def finish() -> None:
        done_before.extend(e.address for e in apply.events if isinstance(e, StepDone))
        # Later changes wait for nothing but what they depend on.
        if an_acl().address in done_before:
            stage.arrive()

    stage.faulty.before_read = lambda: finish() if stage.is_moving() else None
    result = apply.plan(plan)
    assert result.verdict.exit == 0, result.verdict
    assert an_acl().address in done_before


def test_progress_is_told_in_partitions(stage: Stage) -> None:
    apply = stage.apply(events=Listening(on_wait(stage, stage.arrive)))
    apply.desired(wanted(THREE))
    told = [e.sentence for e in apply.events if isinstance(e, Waiting) and e.reason == "moving"]
    assert told == ["copying replicas of orders: 2 partitions left"]


def interrupt(stage: Stage, **how: object) -> Apply:
    """An apply that gets SIGINT while data is copied."""
    signals: list[int] = []
    return stage.apply(
        events=Listening(on_wait(stage, lambda: signals.append(SIGINT))),
        interrupted=lambda: signals[0] if signals else None,
        **how,
    )


def test_an_interrupted_run_leaves_the_move_and_its_throttle_and_says_so(stage: Stage) -> None:
    result = interrupt(stage).desired(wanted(THREE))
    assert result.verdict.exit == 130
    assert "kgitops apply --resume" in str(result.failed)
    assert stage.is_moving()
    assert stage.is_throttled()
    stage.arrive()
    resumed = stage.apply().resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit == 0, resumed.verdict
    assert not stage.is_throttled()
    assert steps_sent(stage).count("replicas") == 1
    assert stage.state.topics["orders"].configs == {"min.insync.replicas": "2"}


def test_a_resume_waits_on_for_what_still_moves(stage: Stage) -> None:
    interrupt(stage).desired(wanted(THREE))
    resumed = stage.apply(events=Listening(on_wait(stage, stage.arrive))).resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit == 0, resumed.verdict
    assert not stage.is_throttled()
    assert steps_sent(stage).count("replicas") == 1


def test_a_move_is_cancelled_only_on_a_clear_yes(stage: Stage) -> None:
    asked: list[Sequence[str]] = []

    def yes(addresses: Sequence[str]) -> bool:
        asked.append(addresses)
        return True

    result = interrupt(stage, cancels=yes).desired(wanted(THREE))
    assert asked == [["topic/orders"]]
    assert result.verdict.exit == 130
    assert not stage.is_moving()
    assert stage.state.topics["orders"].assignment == ((1,), (2,))
    assert not stage.is_throttled()
    assert "cancelled as you asked" in str(result.failed)
    stage.cluster.faults.hold_reassignments = False
    resumed = stage.apply().resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit == 0, resumed.verdict
    assert stage.state.topics["orders"].assignment == THREE.assignment
    sent = steps_sent(stage)
    assert sent.count("broker 3 on") == sent.count("broker 3 off") == 2, "throttled once more"
    assert not stage.is_throttled()


def test_a_refused_move_takes_the_throttle_off_again(stage: Stage) -> None:
    refusal = RequestResult(code=ErrorCode.INVALID_REPLICA_ASSIGNMENT, message="no")
    stage.faulty.refuse = lambda request: refusal if _name(request) == "replicas" else None
    result = stage.apply().desired(wanted(THREE))
    assert result.verdict.exit == 6
    assert not stage.is_throttled()
    stage.faulty.refuse = lambda _: None
    stage.cluster.faults.hold_reassignments = False
    resumed = stage.apply().resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit == 0, resumed.verdict
    assert not stage.is_throttled()
    assert stage.state.topics["orders"].assignment == THREE.assignment


def test_a_throttle_that_others_changed_meanwhile_is_theirs(stage: Stage) -> None:
    def take_over() -> None:
        theirs = AlterBrokerRequest(broker=2, configs={FOLLOWER_RATE: "7"})
        stage.cluster.execute([theirs], validate_only=False, principal="User:other")
        stage.arrive()

    apply = stage.apply(events=Listening(on_wait(stage, take_over)))
    result = apply.desired(wanted(THREE))
    assert result.verdict.exit == 0, result.verdict
    assert [dict(broker.throttles or {}) for broker in stage.state.brokers] == [
        {},
        {FOLLOWER_RATE: "7"},
        {},
    ]
    (note,) = [event for event in apply.events if isinstance(event, Noted)]
    assert note.address == "broker/2"


def test_a_throttle_that_was_there_before_stays(stage: Stage) -> None:
    theirs = [
        AlterBrokerRequest(broker=1, configs={LEADER_RATE: "7", FOLLOWER_RATE: "8"}),
        AlterBrokerRequest(broker=2, configs={LEADER_RATE: "9"}),
    ]
    stage.cluster.execute(theirs, validate_only=False, principal="User:other")
    stage.cluster.faults.hold_reassignments = False
    plan = plan_of(wanted(THREE), stage.state)
    assert "broker/1 has" in str(plan.warnings)
    result = stage.apply().plan(plan)
    assert result.verdict.exit == 0, result.verdict
    assert [dict(broker.throttles or {}) for broker in stage.state.brokers] == [
        {LEADER_RATE: "7", FOLLOWER_RATE: "8"},
        {LEADER_RATE: "9"},
        {},
    ]
    sent = [request for request in stage.faulty.sent if isinstance(request, AlterBrokerRequest)]
    assert {request.broker for request in sent} == {2, 3}
    assert all(LEADER_RATE not in request.configs for request in sent if request.broker == 2)


def test_a_move_that_someone_else_cancels_is_no_success(stage: Stage) -> None:
    def cancel() -> None:
        stage.cluster.cancel_moves({"orders": (0, 1)})

    result = stage.apply(events=Listening(on_wait(stage, cancel))).desired(wanted(THREE))
    assert result.verdict.exit == 6
    assert "cancelled by someone else" in str(result.failed)
    assert not stage.is_throttled()


def test_a_plan_does_not_touch_a_move_of_someone_else(stage: Stage) -> None:
    """P201-16: it is refused while it would move the topic elsewhere, and nothing is cancelled."""
    plan = plan_of(wanted(THREE), stage.state)
    theirs = next(
        item.request
        for item in plan_of(wanted(a_topic(assignment=((3,), (2,)))), stage.state).requests
        if _name(item.request) == "replicas"
    )
    stage.cluster.execute([theirs], validate_only=False, principal="User:other")
    assert "being reassigned already" in str(plan_of(wanted(THREE), stage.state).findings)
    with pytest.raises(Exception, match="topic/orders: assignments was"):
        stage.apply().plan(plan)
    assert stage.state.topics["orders"].assignment == ((3,), (2,))
    assert stage.is_moving()


def planned_anew(stage: Stage, desired: DesiredState) -> Plan:
    """A plan that takes over what the unfinished run left."""
    return make_plan(
        desired,
        stage.state,
        target_name="local",
        capabilities=ALL_CAPABILITIES,
        pending_undo_requests=find_pending_undo_requests(
            stage.cluster, stage.state, Project(name="payments", uid=UID)
        ),
    )


def anew(stage: Stage, desired: DesiredState, **how: object) -> ApplyResult:
    sealed = sealed_now(planned_anew(stage, desired), stage.clock, "nonce-2")
    return stage.apply(**how).plan(sealed, "run-2")


@pytest.mark.parametrize("arrived", [True, False])
def test_a_new_plan_takes_over_what_an_unfinished_run_left(stage: Stage, arrived: bool) -> None:
    """Also one that nobody would have made a change for: the throttle is one."""
    interrupt(stage).desired(wanted(THREE))
    if arrived:
        stage.arrive()
    events = Listening(on_wait(stage, stage.arrive))
    result = anew(stage, wanted(THREE), events=events)
    assert result.verdict.exit == 0, result.verdict
    assert not stage.is_throttled()
    assert not stage.is_moving()
    assert stage.state.topics["orders"].configs == {"min.insync.replicas": "2"}
    assert not planned_anew(stage, wanted(THREE)).changes
    assert stage.apply().resume(UID) is None


def test_min_insync_replicas_waits_for_a_move_that_runs_already(stage: Stage) -> None:
    """No matter who began it: before the replicas are in sync producers would be refused."""
    interrupt(stage).desired(wanted(THREE))
    seen: list[bool] = []

    def look_and_finish() -> None:
        seen.append("min.insync.replicas" in stage.state.topics["orders"].configs)
        stage.arrive()

    plan = plan_of(wanted(THREE), stage.state)  # as a project that knows nothing of the run
    sealed = sealed_now(plan, stage.clock, "nonce-2")
    apply = stage.apply(events=Listening(on_wait(stage, look_and_finish)))
    assert apply.plan(sealed, "run-2").verdict.exit == 0
    assert seen == [False]
    assert stage.state.topics["orders"].configs["min.insync.replicas"] == "2"


def test_a_new_plan_that_moves_elsewhere_takes_the_old_throttle_off_as_well(stage: Stage) -> None:
    interrupt(stage).desired(wanted(THREE))
    stage.arrive()
    result = anew(stage, wanted(a_topic(assignment=((1,), (3,)))))
    assert result.verdict.exit == 0, result.verdict
    assert not stage.is_throttled()
    assert stage.state.topics["orders"].assignment == ((1,), (3,))


def test_what_others_changed_is_no_leftover(stage: Stage) -> None:
    interrupt(stage).desired(wanted(THREE))
    stage.arrive()
    theirs = AlterBrokerRequest(broker=2, configs={LEADER_RATE: "7"})
    stage.cluster.execute([theirs], validate_only=False, principal="User:other")
    result = anew(stage, wanted(THREE))
    assert result.verdict.exit == 0, result.verdict
    assert [dict(broker.throttles or {}) for broker in stage.state.brokers] == [
        {},
        {LEADER_RATE: "7"},
        {},
    ]


def test_another_project_does_not_touch_them(stage: Stage) -> None:
    interrupt(stage).desired(wanted(THREE))
    assert find_pending_undo_requests(stage.cluster, stage.state, Project(name="payments", uid=UID))
    assert not find_pending_undo_requests(stage.cluster, stage.state, Project(name="another"))


class Crash(BaseException):
    """The process dies here: nothing of it runs any more."""


def crash_at(stage: Stage, boundary: int) -> list[int]:
    """Let the faulty cluster crash at one boundary; the count of those that were passed."""
    passed = [0]

    def pass_one(*_: object) -> None:
        passed[0] += 1
        if passed[0] >= boundary:
            raise Crash

    faulty = stage.faulty
    faulty.before_send = faulty.after_send = faulty.before_append = faulty.after_append = pass_one
    return passed


@pytest.mark.parametrize("goes_on", ["resume", "new plan"])
@pytest.mark.parametrize("held", [False, True])
def test_a_crash_at_any_boundary_leaves_no_throttle_in_the_end(*, held: bool, goes_on: str) -> None:
    boundary, finished = 0, False
    while not finished:
        boundary += 1
        stage = Stage()
        stage.cluster.faults.hold_reassignments = held
        crash_at(stage, boundary)
        events = Listening(on_wait(stage, stage.arrive))
        try:
            whole = stage.apply(events=events).desired(wanted(THREE))
            assert whole.verdict.exit == 0, (boundary, whole.verdict)
            finished = True
        except Crash:
            pass
        stage.faulty = FaultyCluster(stage.cluster)
        stage.clock.sleep(100)  # until the dead holder's lease has ended
        events = Listening(on_wait(stage, stage.arrive))
        how = {"events": events, "holder": "User:next@here"}
        result = stage.apply(**how).resume(UID) if goes_on == "resume" else None
        assert result is None or result.verdict.exit == 0, (boundary, result.verdict)
        if planned_anew(stage, wanted(THREE)).changes:
            # Nothing had begun, or it is gone on with by a new plan.
            events = Listening(on_wait(stage, stage.arrive))
            result = anew(stage, wanted(THREE), events=events, holder="User:next@here")
            assert result.verdict.exit == 0, (boundary, result.verdict)
        assert not stage.is_moving(), boundary
        assert not stage.is_throttled(), boundary
        assert stage.state.topics["orders"].assignment == THREE.assignment, boundary
        assert stage.state.topics["orders"].configs == {"min.insync.replicas": "2"}, boundary
    assert boundary > 20
