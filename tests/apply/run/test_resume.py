"""A resume goes on from the journal alone; a new plan closes what an old one left unfinished."""

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import AFTER, STEPS, Apply, comparable, open_cluster, prepare, sealed_now
from builders import UID, a_binding, a_desired, a_quota, a_topic, an_acl, plan_of
from msgspec.structs import replace
from used import used

from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.journal import open_run
from kgitops.apply.journal.reading import latest_values
from kgitops.model.cluster_state import Capabilities
from kgitops.model.errors import SafetyError, UnreachableError, UntrustedPlanError
from kgitops.model.requests import CreateAclRequest, CreateTopicRequest, Request
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Plan


class Killed(BaseException):
    """The process ends here: nothing that comes after runs."""


class World:
    """A cluster on which a plan was begun by a process that was killed."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = FaultyCluster(open_cluster(clock=self.clock))
        self.plan: Plan = prepare(self.cluster, self.clock)
        self.apply = Apply(cluster=self.cluster, clock=self.clock)
        self.cluster.sent.clear()

    def begin_and_die(self, after_batches: int = 1) -> None:
        """Die when this many wire batches took effect, before the journal knows of the last."""

        def die(_: object) -> None:
            if len(self.cluster.batches) >= after_batches:
                self.cluster.before_append = kill
                kill()

        def kill(*_: object) -> None:
            raise Killed

        self.cluster.batches.clear()
        self.cluster.after_send = die
        with pytest.raises(Killed):
            self.apply.plan(self.plan)
        self.revive()

    def revive(self) -> None:
        """Another process, later."""
        quiet = FaultyCluster(self.cluster.real)
        quiet.sent = self.cluster.sent
        self.cluster = self.apply.cluster = quiet
        self.clock.sleep(3600)
        self.apply.events.clear()

    def others(self, *requests: Request) -> None:
        for request in requests:
            (answer,) = self.cluster.real.execute(
                [request], validate_only=False, principal="User:other"
            )
            assert answer.ok, answer

    def latest(self) -> Mapping[str, Mapping[str, object]]:
        return latest_values(self.cluster.registry.read() or ())


@pytest.fixture
def world() -> World:
    return World()


def _created(topic: str) -> CreateTopicRequest:
    state = RequestedTopicState(name=topic, topic_id=None, assignment=((1, 2), (2, 3)))
    return CreateTopicRequest(topic=topic, requested_state=state)


def test_with_nothing_unfinished_there_is_nothing_to_resume_and_nothing_is_written(
    world: World,
) -> None:
    before = world.cluster.registry.read()
    assert world.apply.resume(UID) is None
    assert world.cluster.registry.read() == before


def test_without_a_registry_there_is_nothing_to_resume() -> None:
    cluster = open_cluster()
    assert Apply(cluster=cluster).resume(UID) is None
    assert cluster.registry.read() is None


def test_a_resume_ignores_that_the_plan_expired_meanwhile(world: World) -> None:
    world.begin_and_die()
    world.clock.ahead += timedelta(days=3)
    result = world.apply.resume(UID)
    assert result is not None
    assert (result.verdict.exit, len(result.done)) == (ExitCode.SUCCESS, STEPS)


def test_a_resume_tells_what_was_done_before(world: World) -> None:
    world.begin_and_die(after_batches=4)
    result = world.apply.resume(UID)
    assert result is not None
    started = world.apply.events[0]
    assert isinstance(started, ApplyStarted)
    assert (started.resumed, started.earlier) == (True, len(result.earlier))
    assert 0 < started.earlier < STEPS


def test_another_projects_unfinished_run_is_left_alone(world: World) -> None:
    world.begin_and_die()
    before = world.latest()
    assert world.apply.resume("other-uid") is None
    theirs = a_desired(a_topic("theirs"), project="others", uid="other-uid")
    sealed = sealed_now(plan_of(theirs, world.cluster.read_state()), world.clock, "nonce-2")
    assert world.apply.plan(sealed, "run-2").verdict.exit is ExitCode.SUCCESS
    after = world.latest()
    kept = [key for key in before if key.startswith("run/run-1")]
    assert kept
    assert {key: after.get(key) for key in kept} == {key: before[key] for key in kept}


def test_what_has_not_begun_must_still_be_as_planned_or_nothing_more_is_sent(
    world: World,
) -> None:
    world.begin_and_die()
    before = len(world.cluster.sent)
    world.others(CreateAclRequest(binding=a_binding("User:billing")))
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.PARTIAL
    stale = [reason for reason in result.verdict.reasons if reason.exit is ExitCode.STALE]
    assert "acl/User:billing/Allow/Read/topic/literal/orders@*" in stale[0].sentence
    assert len(world.cluster.sent) == before
    # What was on its way is resolved all the same.
    assert (len(result.done), len(result.not_attempted)) == (before, STEPS - before)


def test_what_the_recheck_finds_stops_a_resume(world: World) -> None:
    world.begin_and_die()
    before = len(world.cluster.sent)
    denied = Reason(exit=ExitCode.DENIED, sentence="no longer allowed")
    world.apply.recheck = lambda plan, pending, state: (
        (denied,) if plan == world.plan and pending else ()
    )
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.PARTIAL
    assert denied in result.verdict.reasons
    assert len(world.cluster.sent) == before


def test_a_run_that_someone_else_resumed_meanwhile_is_not_resumed_again(world: World) -> None:
    world.begin_and_die()

    def meanwhile(_: object) -> None:
        world.cluster.before_append = lambda _: None
        other = Apply(cluster=world.cluster.real, clock=world.clock).resume(UID)
        assert other is not None
        assert other.verdict.exit is ExitCode.SUCCESS

    world.cluster.before_append = meanwhile
    before = len(world.cluster.sent)
    assert world.apply.resume(UID) is None
    assert len(world.cluster.sent) == before


def test_a_cluster_that_can_no_longer_do_it_stops_a_resume(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.begin_and_die()
    before = len(world.cluster.sent)
    monkeypatch.setattr(
        FaultyCluster, "capabilities", Capabilities(backend="embedded", validation={})
    )
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.PARTIAL
    assert "can't carry out" in result.verdict.reasons[1].sentence
    assert len(world.cluster.sent) == before


def test_a_resume_that_is_interrupted_can_be_resumed(world: World) -> None:
    world.begin_and_die()
    caught: list[int] = []
    world.cluster.before_send = lambda _: caught.append(15)
    world.apply.interrupted = lambda: caught[0] if caught else None
    first = world.apply.resume(UID)
    assert first is not None
    assert first.verdict.exit is ExitCode.TERMINATED
    world.revive()
    world.apply.interrupted = lambda: None
    second = world.apply.resume(UID)
    assert second is not None
    assert second.verdict.exit is ExitCode.SUCCESS
    assert len(world.cluster.sent) == len(world.plan.requests)


@pytest.mark.parametrize("others_too", [False, True])
def test_a_topic_of_other_shape_where_ours_should_be_is_a_conflict(
    world: World, *, others_too: bool
) -> None:
    """Told also where the resume may send nothing, because of what has not begun."""

    def die(_: object) -> None:
        raise Killed

    world.cluster.before_send = die
    with pytest.raises(Killed):
        world.apply.plan(world.plan)
    world.revive()
    world.others(_created("new-a"))
    if others_too:
        world.others(CreateAclRequest(binding=a_binding("User:billing")))
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.PARTIAL
    (failure,) = result.failed
    assert failure.address == "topic/new-a"
    assert "nothing was overwritten: make a new plan" in failure.sentence
    assert len(result.done) == (0 if others_too else STEPS - 1)
    assert world.cluster.read_state().topics["new-a"].num_partitions == 2


def test_a_new_plan_closes_the_unfinished_run_as_superseded(world: World) -> None:
    world.begin_and_die(after_batches=2)
    plan = plan_of(AFTER, world.cluster.read_state())
    result = world.apply.plan(sealed_now(plan, world.clock, "nonce-2"), "run-2")
    assert result.verdict.exit is ExitCode.SUCCESS
    latest = world.latest()
    assert latest["run/run-1"]["status"] == "superseded"
    assert not [key for key in latest if key.startswith("run/run-1/")]
    assert world.apply.resume(UID) is None
    assert plan_of(AFTER, world.cluster.read_state()).changes == ()


def test_what_a_superseded_run_completed_is_remembered_as_owned(world: World) -> None:
    """Also where the new plan says nothing of it: it would else be nobody's."""
    world.begin_and_die(after_batches=1)
    landed = [request for request in world.cluster.sent if isinstance(request, CreateTopicRequest)]
    assert [request.topic for request in landed][:1] == ["new-a"]
    only_quota = a_desired(a_quota(consumer_byte_rate=4096), whole=False)
    plan = plan_of(only_quota, world.cluster.read_state())
    assert [change.address for change in plan.changes] == ["quota/user=billing"]
    world.apply.plan(sealed_now(plan, world.clock, "nonce-2"), "run-2")
    state = world.cluster.read_state()
    assert state.registry
    assert state.registry.owners["topic/new-a"].topic_id == state.topics["new-a"].topic_id


def test_a_refused_new_plan_leaves_the_unfinished_run_as_it_is(world: World) -> None:
    world.begin_and_die()
    plan = plan_of(AFTER, world.cluster.read_state())
    world.others(CreateAclRequest(binding=a_binding("User:billing")))
    with pytest.raises(Exception, match="make a new plan"):
        world.apply.plan(sealed_now(plan, world.clock, "nonce-2"), "run-2")
    assert world.latest()["run/run-1"]["status"] == "open"


def _damage(world: World, key: str, values: Mapping[str, object] | None) -> None:
    """Change members of a record, or remove it."""
    value = None if values is None else {**world.latest()[key], **values}
    world.cluster.real.registry.append([(key, value)])


@pytest.mark.parametrize(
    ("key", "values", "error"),
    [
        ("run/run-1/plan/0", None, SafetyError),
        ("run/run-1", {"pieces": 0}, SafetyError),
        ("run/run-1", {"pieces": "many"}, SafetyError),
        ("run/run-1", {"status": "lost"}, SafetyError),
        ("run/run-1", {"beside": 1}, SafetyError),
        ("run/run-1", {"schema_version": 3}, SafetyError),
        ("run/run-1", {"plan_digest": "sha256:another"}, SafetyError),
        ("run/run-1/1", {"requests": ["r99"]}, SafetyError),
        ("run/run-1/1", {"results": 7}, SafetyError),
        ("run/run-1/1", {"schema_version": 3}, SafetyError),
        ("run/run-1/plan/0", {"text": "{}"}, UntrustedPlanError),
        ("run/run-1/plan/0", {"text": 7}, SafetyError),
    ],
    ids=repr,
)
def test_a_damaged_journal_stops_a_resume_with_one_sentence(
    world: World, key: str, values: Mapping[str, object] | None, error: type[Exception]
) -> None:
    world.begin_and_die()
    _damage(world, key, values)
    before = len(world.cluster.sent)
    with pytest.raises(error, match="run-1"):
        world.apply.resume(UID)
    assert len(world.cluster.sent) == before


def test_a_changed_plan_in_the_journal_is_refused(world: World) -> None:
    world.begin_and_die()
    text = str(world.latest()["run/run-1/plan/0"]["text"])
    _damage(world, "run/run-1/plan/0", {"text": text.replace("2048", "2049")})
    with pytest.raises(UntrustedPlanError, match="was changed"):
        world.apply.resume(UID)


def test_a_large_plan_is_kept_in_pieces_that_a_log_takes(world: World) -> None:
    binding = replace(a_binding("User:" + '"\\\n' * 60_000))
    desired = a_desired(
        an_acl(binding),
        *(an_acl(a_binding("User:😀" * 4_000 + str(n))) for n in range(9)),
        whole=False,
    )
    sealed = sealed_now(plan_of(desired, world.cluster.read_state()), world.clock)
    run, records = open_run(
        sealed,
        run_id="run-9",
        holder="me",
        started=world.clock.now(),
        project=desired.project,
    )
    pieces = [value for key, value in records if "/plan/" in key]
    sizes = [len(json.dumps(piece, ensure_ascii=False).encode()) for piece in pieces]
    assert len(pieces) == run.pieces > 1
    assert max(sizes) <= 512 * 1024

    def away(_: object) -> None:
        raise Killed

    world.cluster.after_send = away
    with pytest.raises(Killed):
        world.apply.plan(sealed)
    world.revive()
    result = world.apply.resume(UID)
    assert result is not None
    assert result.verdict.exit is ExitCode.SUCCESS


def test_a_nonce_is_dropped_thirty_days_after_its_plan_expired(world: World) -> None:
    """By then the plan is refused for its expiry alone."""
    keys = set()
    for days, name in ((0, "a"), (30, "b"), (2, "c")):
        world.clock.ahead += timedelta(days=days)
        desired = a_desired(a_topic(f"topic-{name}"), whole=False)
        plan = plan_of(desired, world.cluster.read_state())
        world.apply.plan(sealed_now(plan, world.clock, f"nonce-{name}"), f"run-{name}")
        keys = {key for key in world.latest() if key.startswith("nonce/")}
        assert f"nonce/nonce-{name}" in keys
    assert keys == {"nonce/nonce-b", "nonce/nonce-c"}


def test_the_nonce_is_spent_with_the_first_intent_and_not_before(world: World) -> None:
    appended: list[list[str]] = []
    world.cluster.before_append = lambda records: appended.append([key for key, _ in records])
    world.apply.plan(world.plan)
    (with_nonce,) = [keys for keys in appended if "nonce/nonce-1" in keys]
    assert {"run/run-1", "run/run-1/plan/0", "run/run-1/1"} <= set(with_nonce)
    assert appended.index(with_nonce) == 1  # the first is the claim on the lock


def test_an_outcome_and_the_ownership_it_completes_are_one_append(world: World) -> None:
    appended: list[list[str]] = []
    world.cluster.before_append = lambda records: appended.append([key for key, _ in records])
    world.apply.plan(world.plan)
    for change in world.plan.changes:
        (keys,) = [keys for keys in appended if f"own/{change.address}" in keys]
        assert [key for key in keys if key.startswith("run/run-1/")]


def test_a_run_that_cannot_close_its_journal_says_so_and_a_resume_closes_it(world: World) -> None:
    def broken(records: object) -> None:
        if ("run/run-1/plan/0", None) in records:
            raise UnreachableError("the disk is full")

    world.cluster.before_append = broken
    result = world.apply.plan(world.plan)
    assert result.verdict.exit is ExitCode.PARTIAL
    assert len(result.done) == result.planned
    assert "the journal could not be closed" in result.verdict.reasons[0].sentence
    world.revive()
    resumed = world.apply.resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert world.latest()["run/run-1"]["status"] == "done"


def test_an_undisturbed_resume_ends_where_an_undisturbed_apply_ends(world: World) -> None:
    world.begin_and_die(after_batches=3)
    world.apply.resume(UID)
    other = open_cluster()
    Apply(cluster=other).plan(prepare(other))
    assert comparable(used(world.cluster)) == comparable(used(other))


def test_of_two_unfinished_runs_the_newest_is_gone_on_with(world: World) -> None:
    """A kgitops that did not close an older one may have left two."""
    world.begin_and_die()
    older = [
        (key.replace("run/run-1", "run/run-0"), value)
        for key, value in latest_values(world.cluster.registry.read() or ()).items()
        if key.startswith("run/run-1")
    ]
    header = {**dict(older)["run/run-0"], "started": "2020-01-01T00:00:00Z"}
    world.cluster.registry.append([*older, ("run/run-0", header)])
    result = world.apply.resume(UID)
    assert result is not None
    assert (result.run_id, result.verdict.exit) == ("run-1", ExitCode.SUCCESS)
