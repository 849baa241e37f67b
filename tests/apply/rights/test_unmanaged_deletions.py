"""Nothing that nobody manages is deleted, but where the plan itself says who wants it."""

from pathlib import Path

import pytest
from apply.faults import FakeClock
from apply.plans import Apply, sealed_now
from apply.scenario import apply_until, open_scenario, plan_at
from msgspec.structs import replace

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.model.errors import KgitopsError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.requests import DeleteAclRequest
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Change, Plan

MEMBER = "vc/emea.sales/user/User:sales-app"


def _at(tmp_path: Path, commit: int) -> tuple[EmbeddedCluster, Cluster, Plan]:
    physical, cluster = open_scenario(tmp_path / "x.db", FakeClock(), lowered=False)
    apply_until(cluster, FakeClock(), commit)
    return physical, cluster, plan_at(cluster, commit)


def _refused(cluster: Cluster, plan: Plan) -> str:
    """The error; nothing was sent."""
    before = cluster.read_state()
    with pytest.raises(KgitopsError) as raised:
        Apply(cluster=cluster).plan(sealed_now(plan, FakeClock(), "forged"))
    after = cluster.read_state()
    assert (after.acls, after.virtual_clusters) == (before.acls, before.virtual_clusters)
    assert raised.value.exit is ExitCode.REFUSED
    return str(raised.value)


def _with(plan: Plan, change: Change) -> Plan:
    return replace(plan, changes=tuple(change if it.address == change.address else it
                                       for it in plan.changes))  # fmt: skip


def test_an_old_acl_goes_only_for_a_member_that_the_plan_checks(tmp_path: Path) -> None:
    """VC-191: another's word, or nobody's, is none."""
    physical, cluster, plan = _at(tmp_path, 2)
    change = plan.changes[0]
    planned = change.requests[0]
    assert isinstance(planned.request, DeleteAclRequest)
    assert planned.request.migrated_to == MEMBER
    assert planned.expects.owner is None
    for forged in (
        replace(change, preconditions=(planned.expects,)),
        replace(
            change,
            requests=(
                replace(planned, request=replace(planned.request, migrated_to=f"{MEMBER}2")),
            ),
        ),
        replace(
            change,
            requests=(replace(planned, request=replace(planned.request, migrated_to=None)),),
        ),
    ):
        assert "not managed by any project" in _refused(cluster, _with(plan, forged))
    result = Apply(cluster=cluster).plan(sealed_now(plan, FakeClock(), "real"))
    assert result.verdict.exit is ExitCode.SUCCESS
    physical.close()


def test_a_link_goes_with_its_topic_only_where_that_is_ours(tmp_path: Path) -> None:
    """D150: of a topic's own link nobody keeps a record; the topic's owner answers for it."""
    physical, cluster, plan = _at(tmp_path, 4)
    (link,) = [it for it in plan.changes if it.address == "vc/analytics/link/Reports"]
    assert link.owner_before is None
    alone = replace(plan, changes=(replace(link, requests=tuple(
        replace(it, depends_on=()) for it in link.requests)),))  # fmt: skip
    assert "vc/analytics/link/Reports is not managed by any project" in _refused(cluster, alone)
    physical.close()


@pytest.mark.parametrize("field", ["topic", "topic_id"])
def test_a_topic_is_changed_only_where_it_is_the_one_that_was_reviewed(
    tmp_path: Path, field: str
) -> None:
    """A local name says nothing of the physical topic: a plan that means another is refused."""
    physical, cluster, plan = _at(tmp_path, 4)
    (change,) = [it for it in plan.changes if it.address == "vc/analytics/topic/Reports"]
    other = cluster.read_state().topics["emea.eu.sales.SalesStream"]
    (planned,) = change.requests
    value = other.name if field == "topic" else other.topic_id
    forged = replace(planned, request=replace(planned.request, **{field: value}))
    with pytest.raises(KgitopsError) as raised:
        Apply(cluster=cluster).plan(
            sealed_now(_with(plan, replace(change, requests=(forged,))), FakeClock(), "forged")
        )
    assert raised.value.exit is ExitCode.UNTRUSTED
    assert "vc/analytics/topic/Reports" in str(raised.value)
    assert "analytics" in cluster.read_state().virtual_clusters
    physical.close()


@pytest.mark.parametrize("commit", [2, 4])
def test_a_persons_command_may_delete_what_nobody_manages(tmp_path: Path, commit: int) -> None:
    """It names each object itself; what a project manages is refused before."""
    physical, cluster, plan = _at(tmp_path, commit)
    kept = [it for it in plan.changes if it.owner_before is None]
    bare = [replace(it, preconditions=(it.requests[0].expects,), derived_from=()) for it in kept]
    bare = [replace(it, requests=tuple(replace(one, depends_on=()) for one in it.requests))
            for it in bare]  # fmt: skip
    plan = replace(plan, changes=tuple(bare))
    assert plan.changes
    if commit == 2:
        assert "not managed by any project" in _refused(cluster, plan)
    person = Project(name=COMMAND_PROJECT)
    told = replace(
        plan, desired=replace(plan.desired, identity=person.identity, project=person.name)
    )
    if commit == 4:
        # The link of a topic that a project manages is that project's as well.
        assert "belongs to the project 'platform'" in _refused(cluster, told)
    else:
        result = Apply(cluster=cluster, project=person).plan(sealed_now(told, FakeClock(), "told"))
        assert result.verdict.exit is ExitCode.SUCCESS
    physical.close()
