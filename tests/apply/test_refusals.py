"""A plan that is refused before anything is sent keeps its own exit code and sends nothing."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from apply.faults import FakeClock, FaultyCluster
from apply.plans import Apply, open_cluster, prepare, sealed_now
from builders import a_binding, a_desired, a_topic, an_entity, plan_of
from msgspec.structs import replace

from kgitops.apply.journal.reading import latest_values
from kgitops.model import requests as req
from kgitops.model.cluster_state import Capabilities
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.topics import RequestedTopicState
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.plan import Change, Plan, Precondition, RegistryEnd


class World:
    """A prepared cluster, its plan, and what an apply of it says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cluster = FaultyCluster(open_cluster(clock=self.clock))
        self.plan = prepare(self.cluster, self.clock)
        self.apply = Apply(cluster=self.cluster, clock=self.clock)
        self.forget()

    def forget(self) -> None:
        self.cluster.sent.clear()
        self.before = self.cluster.registry.read()

    def others(self, *requests: req.Request) -> None:
        """Somebody else changes the cluster."""
        for request in requests:
            (answer,) = self.cluster.real.execute(
                [request], validate_only=False, principal="User:other"
            )
            assert answer.ok, answer

    def refusal(self, plan: Plan | None = None) -> KgitopsError:
        """The error of applying; nothing was sent, and no run began."""
        with pytest.raises(KgitopsError) as caught:
            self.apply.plan(plan or self.plan)
        assert self.cluster.sent == []
        latest = latest_values(self.cluster.registry.read() or ())
        assert not [
            key for key in latest if key.startswith(("lock/", "run/run-1", "nonce/nonce-1"))
        ]
        return caught.value


@pytest.fixture
def world() -> World:
    return World()


def _altered(world: World, topic: str, **configs: str | None) -> req.AlterTopicRequest:
    state = world.cluster.read_state().topics[topic]
    return req.AlterTopicRequest(
        topic=topic,
        topic_id=state.topic_id or "",
        step=req.AlterStep.CONFIGS,
        requested_state=RequestedTopicState(
            name=topic,
            topic_id=state.topic_id,
            assignment=state.assignment,
            requested_configs={key.replace("_", "."): value for key, value in configs.items()},
        ),
    )


def _grown(world: World) -> req.AlterTopicRequest:
    state = world.cluster.read_state().topics["orders"]
    return req.AlterTopicRequest(
        topic="orders",
        topic_id=state.topic_id or "",
        step=req.AlterStep.PARTITIONS,
        requested_state=RequestedTopicState(
            name="orders", topic_id=state.topic_id, assignment=(*state.assignment, (1, 2))
        ),
    )


def _deleted(world: World, topic: str) -> req.DeleteTopicRequest:
    topic_id = world.cluster.read_state().topics[topic].topic_id
    return req.DeleteTopicRequest(topic=topic, topic_id=topic_id or "")


def _created(topic: str) -> req.CreateTopicRequest:
    state = RequestedTopicState(name=topic, topic_id=None, assignment=((1, 2), (2, 3)))
    return req.CreateTopicRequest(topic=topic, requested_state=state)


@pytest.mark.parametrize(
    ("what_others_did", "named"),
    [
        (lambda w: [_altered(w, "orders", retention_ms="7")], "topic/orders: configs.retention.ms"),
        (lambda w: [_grown(w)], "topic/orders: partitions was '2' and is '3'"),
        (lambda w: [_deleted(w, "orders")], "topic/orders: the object was present and is absent"),
        (lambda w: [_deleted(w, "old"), _created("old")], "topic/old: topic_id"),
        (lambda w: [_created("new-a")], "topic/new-a: the object was absent and is present"),
        (
            lambda w: [req.CreateAclRequest(binding=a_binding("User:billing"))],
            "acl/User:billing/Allow/Read/topic/literal/orders@*: the object was absent",
        ),
        (
            lambda w: [req.DeleteAclRequest(binding=a_binding("User:gone"))],
            "acl/User:gone/Allow/Read/topic/literal/orders@*: the object was present",
        ),
        (
            lambda w: [
                req.AlterClientQuotaRequest(
                    entity=an_entity(user="billing"), quotas={"consumer_byte_rate": 7.0}
                )
            ],
            "quota/user=billing: quotas.consumer_byte_rate was '1024' and is '7'",
        ),
    ],
)
def test_what_others_changed_of_a_planned_object_makes_the_plan_stale(
    world: World, what_others_did: Callable[[World], list[req.Request]], named: str
) -> None:
    world.others(*what_others_did(world))
    error = world.refusal()
    assert error.exit is ExitCode.STALE
    assert named in str(error)
    assert str(error).endswith("; make a new plan")


def test_what_others_changed_elsewhere_does_not(world: World) -> None:
    world.others(
        _created("elsewhere"),
        _altered(world, "orders", compression_type="zstd"),
        req.CreateAclRequest(binding=a_binding("User:elsewhere")),
        req.AlterClientQuotaRequest(
            entity=an_entity(user="billing"), quotas={"request_percentage": 7.0}
        ),
    )
    assert world.apply.plan(world.plan).verdict.exit is ExitCode.SUCCESS


def test_what_another_project_took_on_makes_the_plan_stale(world: World) -> None:
    theirs = a_desired(a_topic("found"), project="others", uid="other-uid", whole=False)
    Apply(cluster=world.cluster, clock=world.clock).plan(
        sealed_now(plan_of(theirs, world.cluster.read_state()), world.clock, "nonce-2"), "run-2"
    )
    world.forget()
    error = world.refusal()
    assert error.exit is ExitCode.STALE
    assert "topic/found: owner was nobody and is the project 'other-uid'" in str(error)


def test_a_change_while_waiting_for_the_lock_is_seen_before_anything_is_sent(world: World) -> None:
    def meanwhile(_: object) -> None:
        world.cluster.before_append = lambda _: None
        world.others(_created("new-a"))

    world.cluster.before_append = meanwhile
    assert world.refusal().exit is ExitCode.STALE


def test_a_change_after_the_last_check_is_seen_before_the_request_goes_out(world: World) -> None:
    reads = 0

    def at_the_third_read() -> None:
        nonlocal reads
        reads += 1
        if reads == 3:
            world.others(_created("new-a"))

    world.cluster.before_read = at_the_third_read
    assert world.refusal().exit is ExitCode.STALE


def test_a_change_after_the_last_check_is_seen_before_an_adoption_is_recorded(
    world: World,
) -> None:
    desired = a_desired(a_topic("found"), whole=False)
    plan = plan_of(desired, world.cluster.real.read_state())
    reads = 0

    def at_the_third_read() -> None:
        nonlocal reads
        reads += 1
        if reads == 3:
            world.others(_deleted(world, "found"))

    world.cluster.before_read = at_the_third_read
    assert world.refusal(plan).exit is ExitCode.STALE


def test_an_expired_plan_is_refused(world: World) -> None:
    sealed = sealed_now(world.plan, world.clock)
    world.clock.ahead += timedelta(days=1)
    with pytest.raises(KgitopsError, match="expired") as caught:
        world.apply.plan(sealed)
    assert caught.value.exit is ExitCode.UNTRUSTED
    assert world.cluster.sent == []


def test_a_plan_is_applied_only_once(world: World) -> None:
    sealed = sealed_now(world.plan, world.clock)
    world.apply.plan(sealed)
    world.forget()
    with pytest.raises(KgitopsError, match="already applied") as caught:
        world.apply.plan(sealed, "run-2")
    assert caught.value.exit is ExitCode.UNTRUSTED
    assert world.cluster.sent == []


def test_a_plan_for_another_cluster_is_refused(world: World) -> None:
    target = replace(world.plan.target, cluster_id="another")
    error = world.refusal(replace(world.plan, target=target))
    assert error.exit is ExitCode.UNTRUSTED
    assert "another" in str(error)


def test_another_registry_than_the_one_planned_from_is_refused(world: World) -> None:
    base = replace(world.plan.base, registry=RegistryEnd(topic_id="another", offset="0"))
    assert world.refusal(replace(world.plan, base=base)).exit is ExitCode.STALE


def test_what_the_recheck_finds_is_refused_with_its_own_code(world: World) -> None:
    reason = Reason(exit=ExitCode.REFUSED, sentence="too many deletions")
    world.apply.recheck = lambda plan, pending, state: (reason,)
    error = world.refusal()
    assert (error.exit, str(error)) == (ExitCode.REFUSED, "too many deletions")


def test_the_recheck_sees_the_plan_its_steps_and_the_cluster(world: World) -> None:
    seen = []
    world.apply.recheck = lambda *words: seen.append(words) or ()
    world.apply.plan(world.plan)
    assert [plan for plan, _, _ in seen] == [world.plan, world.plan]
    _, pending, state = seen[0]
    assert {planned.id for planned in world.plan.requests} <= set(pending)
    assert "old" in state.topics


def test_a_cluster_that_cannot_do_a_request_is_sent_none(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    less = {
        api: validation
        for api, validation in world.cluster.capabilities.validation.items()
        if api != "DeleteTopic"
    }
    capabilities = Capabilities(backend="embedded", validation=less)
    monkeypatch.setattr(FaultyCluster, "capabilities", capabilities)
    error = world.refusal()
    assert error.exit is ExitCode.ERROR
    assert "topic/old: this cluster can't carry out DeleteTopic" in str(error)


def _forged(plan: Plan, address: str, **expects: object) -> Plan:
    def forge(change: Change) -> Change:
        if change.address != address:
            return change
        planned = tuple(
            replace(request, expects=replace(request.expects, **expects))
            for request in change.requests
        )
        return replace(change, requests=planned, preconditions=(planned[0].expects,))

    return replace(plan, changes=tuple(map(forge, plan.changes)))


def test_a_deletion_that_expects_no_owner_is_refused(world: World) -> None:
    error = world.refusal(_forged(world.plan, "topic/old", owner=None))
    assert error.exit is ExitCode.STALE
    assert "topic/old: owner was nobody and is the project" in str(error)


def test_a_request_must_be_for_the_object_that_was_reviewed_and_checked(world: World) -> None:
    forged = _forged(world.plan, "topic/old", object="topic/found")
    error = world.refusal(forged)
    assert error.exit is ExitCode.UNTRUSTED


@pytest.mark.parametrize(
    "path", ["name", "config.retention.ms", "assignments.x", "quotas.retention.ms", ""]
)
def test_a_precondition_that_cannot_be_decided_is_refused(world: World, path: str) -> None:
    error = world.refusal(_forged(world.plan, "topic/old", fields={path: None}))
    assert error.exit is ExitCode.STALE
    assert "can't check" in str(error)


def test_dependencies_in_a_circle_are_refused(world: World) -> None:
    changes = [
        replace(
            change,
            requests=tuple(
                replace(planned, depends_on=(change.requests[-1].id,))
                for planned in change.requests
            ),
        )
        for change in world.plan.changes
    ]
    error = world.refusal(replace(world.plan, changes=tuple(changes)))
    assert (error.exit, "circle" in str(error)) == (ExitCode.UNTRUSTED, True)


def test_an_address_of_an_unknown_kind_is_refused(world: World) -> None:
    (change,) = [change for change in world.plan.changes if change.address == "topic/found"]
    other = Precondition(object="vc/emea.sales/broker/1", exists=False)
    changed = replace(change, preconditions=(*change.preconditions, other))
    error = world.refusal(replace(world.plan, changes=(changed,)))
    assert error.exit is ExitCode.STALE
    assert "vc/emea.sales/broker/1" in str(error)
