"""A project whose former identities the registry remembers is the project that it was.

How the registry comes to remember them: tests/plan/test_takeovers.py.
"""

import pytest
from apply.faults import FakeClock
from apply.plans import Apply, open_cluster, sealed_now
from builders import (
    PROJECT,
    UID,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    an_acl,
    an_owner,
    on_cluster,
    plan_of,
)
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.registry import project_record
from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.desired.claims import former_identities
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy, DesiredObject
from kgitops.model.registry import RegistryState
from kgitops.model.requests import DeleteAclRequest
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Plan

DELETE, ORPHAN = DeletionPolicy.DELETE, DeletionPolicy.ORPHAN
OLD = "old-uid"
TOPIC, ACL, QUOTA = a_topic("orders"), an_acl(a_binding("User:gone")), a_quota(producer_byte_rate=1)


def of_old(*items: DesiredObject, identity: str = OLD, name: str = PROJECT) -> ClusterState:
    """A cluster to which these were applied under the remembered former identity."""
    return a_cluster(
        *map(on_cluster, items),
        owners={item.address: an_owner(item, project=identity) for item in items},
        projects={identity: name, UID: PROJECT},
        formerly={UID: (identity,)},
    )


def now(*items: object, **more: object) -> DesiredState:
    """What the project declares under its new uid."""
    return a_desired(*items, **{"formerly": [PROJECT], **more})  # type: ignore[arg-type]


def changes(plan: Plan) -> dict[str, tuple[Action, ...]]:
    assert not plan.verdict.stops, plan.verdict.reasons
    return {change.address: change.actions for change in plan.changes}


@pytest.mark.parametrize("identity", [OLD, PROJECT], ids=["uid changed", "uid added"])
@pytest.mark.parametrize("item", [TOPIC, ACL, QUOTA], ids=["topic", "acl", "quota"])
def test_what_is_declared_still_is_only_remembered_anew(item: DesiredObject, identity: str) -> None:
    (change,) = plan_of(now(item), of_old(item, identity=identity)).changes
    assert (change.actions, change.requests) == ((Action.UPDATE,), ())
    assert change.risks == (risks.REGISTRY_ONLY,)
    assert change.because == "it was applied under a former identity of this project"
    assert [(it.path, it.before, it.after) for it in change.fields] == [("owner", identity, UID)]
    assert change.owner_after == an_owner(item)


def test_a_removed_acl_is_planned_for_deletion() -> None:
    plan = plan_of(now(TOPIC), of_old(TOPIC, ACL))
    assert changes(plan)[ACL.address] == (Action.DELETE,)
    assert not [kept for kept in plan.kept if kept.rule == "foreign"]


def test_protect_stays_protect() -> None:
    plan = plan_of(now(ACL), of_old(TOPIC, ACL))
    assert plan.verdict.exit is ExitCode.REFUSED
    assert "topic/orders is protected" in plan.verdict.reasons[0].sentence


def test_a_tombstone_works() -> None:
    plan = plan_of(now(ACL, a_tombstone(TOPIC)), of_old(TOPIC, ACL))
    assert changes(plan)[TOPIC.address] == (Action.DELETE,)


def test_an_adopted_object_stays_adopted() -> None:
    state = of_old(ACL)
    assert state.registry
    adopted = {ACL.address: replace(state.registry.owners[ACL.address], adopted=True)}
    state = replace(state, registry=replace(state.registry, owners=adopted))
    (change,) = plan_of(now(ACL), state).changes
    assert change.owner_after
    assert change.owner_after.adopted


def test_it_counts_for_limits_and_for_a_project_that_declares_nothing() -> None:
    acls = [an_acl(a_binding(f"User:{number}")) for number in range(20)]
    plan = plan_of(now(*acls[12:]), of_old(*acls))
    assert plan.managed_counts["Acl"] == 20
    assert "the plan deletes 12 objects" in plan.verdict.reasons[0].sentence
    empty = plan_of(now(), of_old(*acls))
    assert "declares nothing, yet manages 20" in empty.verdict.reasons[0].sentence


def test_drift_is_that_of_both() -> None:
    state = of_old(TOPIC, ACL)
    project = now().project
    told = desired_from_registry(project, state.registry, safety=Safety(), principal="User:a")
    assert {item.address for item in told.objects} == {TOPIC.address, ACL.address}
    plan = plan_of(told, replace(state, acls=frozenset()))
    assert [(row.address, row.rule) for row in plan.drift] == [(ACL.address, "missing")]


def test_default_is_nobodys_former_self() -> None:
    """Everybody may take from it, so that what is not declared stays."""
    state = of_old(TOPIC, identity="default", name="default")
    plan = plan_of(now(ACL, formerly=["default"]), state)
    assert TOPIC.address not in changes(plan)


def test_a_name_that_somebody_else_took_since_is_not_this_project() -> None:
    """The name alone says nothing once the registry knows this project."""
    state = of_old(TOPIC, identity="other-uid", name="billing")
    assert state.registry
    known = replace(state.registry, projects={"other-uid": "billing", UID: PROJECT}, formerly={})
    plan = plan_of(now(ACL, formerly=["billing"]), replace(state, registry=known))
    assert plan.verdict.exit is ExitCode.REFUSED
    assert "write other-uid into formerly" in plan.verdict.reasons[0].sentence
    assert "needs its release" in plan.verdict.reasons[0].sentence
    named = plan_of(now(ACL, TOPIC, formerly=["other-uid"]), replace(state, registry=known))
    assert named.verdict.exit is ExitCode.REFUSED
    assert [it.identity for it in named.takeovers] == ["other-uid"]


def test_a_name_that_a_project_had_is_not_taken_by_another() -> None:
    registry = RegistryState(
        topic_id="r", offset=1, projects={"u": "new-name"}, formerly={"u": ("billing", "b")}
    )
    for project, uid in (("billing", UID), ("other", "b")):
        plan = plan_of(
            a_desired(TOPIC, project=project, uid=uid), replace(a_cluster(), registry=registry)
        )
        assert plan.verdict.exit is ExitCode.REFUSED
        assert "'new-name' (u) says that it was formerly" in plan.verdict.reasons[0].sentence


# Applied


def cluster_of_old() -> EmbeddedCluster:
    cluster = open_cluster()
    before = a_desired(
        TOPIC, ACL, QUOTA, a_topic("late", deletion_policy=DELETE), a_topic("b"), uid=OLD
    )
    result = Apply(cluster=cluster).desired(before)
    assert result.verdict.exit is ExitCode.SUCCESS
    return cluster


def taken_over(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """The new uid took over all that the old one owned."""
    safety = Safety(replication_throttle=0, allow_takeover=(OLD,))
    applied(cluster, now(TOPIC, ACL, QUOTA, safety=safety), "taking")
    return cluster


def applied(cluster: EmbeddedCluster, desired: DesiredState, name: str) -> Plan:
    """Planned and applied; the plan that was."""
    plan = plan_of(desired, cluster.read_state())
    assert not plan.verdict.stops, plan.verdict.reasons
    sealed = sealed_now(plan, FakeClock(), name)
    result = Apply(cluster=cluster, project=desired.project).plan(sealed, name)
    assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
    return plan


def test_after_one_apply_every_record_has_the_new_uid_and_nothing_is_left() -> None:
    cluster = taken_over(cluster_of_old())
    wanted = now(TOPIC, QUOTA, a_tombstone("topic/b"))
    plan = applied(cluster, wanted, "first")
    assert [it.request.binding for it in plan.requests if isinstance(it.request, DeleteAclRequest)]
    registry = cluster.read_state().registry
    assert registry
    assert {it.project for it in registry.owners.values() if not it.spent} == {UID}
    assert set(cluster.read_state().topics) == {"orders"}
    again = plan_of(now(TOPIC, QUOTA), cluster.read_state())
    assert (again.changes, again.drift) == ((), ())


def test_what_a_first_apply_left_out_is_still_this_projects() -> None:
    """The name was free for anybody since: the registry remembers who had it."""
    cluster = taken_over(cluster_of_old())
    part = now(TOPIC, ACL, QUOTA, whole=False, targets=["topic/orders"])
    applied(cluster, part, "part")
    registry = cluster.read_state().registry
    assert registry
    assert registry.formerly == {UID: tuple(sorted([OLD, PROJECT]))}
    assert former_identities(Project(name=PROJECT, uid=UID), registry) >= {OLD}
    state = read_snapshot(write_snapshot(cluster.read_state()), "prod.json")
    rest = plan_of(a_desired(TOPIC, QUOTA, a_topic("b")), state)
    assert changes(rest)[ACL.address] == (Action.DELETE,)
    assert changes(rest)["topic/late"] == (Action.DELETE,)


def test_an_unfinished_run_of_the_former_identity_is_gone_on_with() -> None:
    cluster = cluster_of_old()
    stopping = iter([None] * 8)
    apply = Apply(cluster=cluster, interrupted=lambda: next(stopping, 15))
    before = a_desired(*(a_topic(f"t{number}") for number in range(9)), TOPIC, uid=OLD, whole=False)
    sealed = sealed_now(plan_of(before, cluster.read_state()), FakeClock(), "cut")
    assert apply.plan(sealed, "cut").verdict.exit is not ExitCode.SUCCESS
    cluster.registry.append([project_record(UID, PROJECT, [OLD])])
    resumed = Apply(cluster=cluster, project=now().project).resume(UID)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS
    assert {f"t{number}" for number in range(9)} <= set(cluster.read_state().topics)
