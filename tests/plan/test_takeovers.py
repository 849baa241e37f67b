"""Taking over other projects' objects: by a plan of its own, with their consent (contract §15)."""

from collections.abc import Iterator

import pytest
from apply.faults import FakeClock
from apply.plans import HOLDER, SETTINGS, Apply, open_cluster, sealed_now
from builders import (
    UID,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_tombstone,
    a_topic,
    an_acl,
    plan_of,
)
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock import write_release
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.snapshot import read_snapshot, write_snapshot
from kgitops.desired.last_applied import desired_from_registry
from kgitops.desired.state import DesiredState, Project, Safety
from kgitops.model.errors import KgitopsError, SafetyError, StaleError, UsageError
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.registry import Owner, RegistryState
from kgitops.model.verdict import ExitCode
from kgitops.plan.document import risks
from kgitops.plan.document.file import to_text
from kgitops.plan.document.plan import Action, Plan
from kgitops.plan.reading import read_plan

DELETE = DeletionPolicy.DELETE
THEIRS, OTHERS = "their-uid", "others-uid"
ALLOWED = Safety(replication_throttle=0, allow_takeover=(THEIRS,))
ORDERS = a_topic("orders", configs={"retention.ms": "86400000"})
LOG, ACL, QUOTA = a_topic("log", deletion_policy=DELETE), an_acl(), a_quota(producer_byte_rate=1)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """A cluster on which the project ``billing`` owns four objects."""
    cluster = open_cluster()
    applied(cluster, theirs(ORDERS, LOG, ACL, QUOTA), "theirs")
    yield cluster
    cluster.close()


def theirs(*items: object, **more: object) -> DesiredState:
    wanted: dict[str, object] = {"project": "billing", "uid": THEIRS, **more}
    return a_desired(*items, **wanted)  # type: ignore[arg-type]


def ours(*items: object, **more: object) -> DesiredState:
    return a_desired(*items, **more)  # type: ignore[arg-type]


def planned(cluster: EmbeddedCluster, desired: DesiredState) -> Plan:
    return plan_of(desired, cluster.read_state())


def apply(cluster: EmbeddedCluster, plan: Plan, project: Project, run: str) -> object:
    # Read back from its file, as a person's apply does.
    sealed = read_plan(to_text(sealed_now(plan, FakeClock(), f"nonce-{run}")), "plan.json")
    result = Apply(cluster=cluster, project=project).plan(sealed, run)
    assert result.verdict.exit is ExitCode.SUCCESS, result.verdict
    return result


def applied(cluster: EmbeddedCluster, desired: DesiredState, run: str) -> Plan:
    plan = planned(cluster, desired)
    assert not plan.verdict.stops, plan.verdict.reasons
    apply(cluster, plan, desired.project, run)
    return plan


def release(cluster: EmbeddedCluster, to: str | None, project: Project | None = None) -> None:
    context = ApplyContext(
        cluster=cluster,
        settings=SETTINGS,
        clock=FakeClock(),
        on_event=lambda _: None,
        interrupted=lambda: None,
    )
    write_release(context, project or Project(name="billing", uid=THEIRS), to, holder=HOLDER)


def registry_of(cluster: EmbeddedCluster) -> RegistryState:
    registry = cluster.read_state().registry
    assert registry is not None
    return registry


def owners(cluster: EmbeddedCluster) -> dict[str, str]:
    found = registry_of(cluster).owners
    return {address: owner.project for address, owner in found.items() if not owner.spent}


def refusal(plan: Plan) -> str:
    assert plan.verdict.exit is ExitCode.REFUSED, plan.verdict
    return plan.verdict.reasons[0].sentence


CLAIMS = [
    {"formerly": [THEIRS]},
    {"formerly": ["billing"]},
    {"take_from": [THEIRS]},
    {"take_from": ["billing"]},
    {"take_from": ["billing"], "formerly": [THEIRS]},
]
every_claim = pytest.mark.parametrize(
    "claim", CLAIMS, ids=["uid", "name", "from uid", "from name", "both"]
)


# Consent


@every_claim
def test_a_claim_alone_gives_nothing(cluster: EmbeddedCluster, claim: dict[str, list[str]]) -> None:
    plan = planned(cluster, ours(ORDERS, a_tombstone("topic/log"), **claim))
    sentence = refusal(plan)
    assert "'billing' (their-uid) owns 4 objects" in sentence
    assert "was last applied 20" in sentence
    assert "(run theirs)" in sentence
    assert HOLDER in sentence
    assert f"kgitops registry release --to {UID} -c local" in sentence
    assert f"--allow-takeover {THEIRS}" in sentence
    with pytest.raises(SafetyError):
        Apply(cluster=cluster).plan(sealed_now(plan, FakeClock()))
    assert set(owners(cluster).values()) == {THEIRS}


@every_claim
@pytest.mark.parametrize("way", ["release", "allow"])
def test_a_plan_that_takes_over_changes_owners_and_nothing_else(
    cluster: EmbeddedCluster, claim: dict[str, list[str]], way: str
) -> None:
    changed = a_topic("orders", configs={"retention.ms": "3600000"}, deletion_policy=DELETE)
    desired = ours(changed, a_topic("new"), a_tombstone("topic/log"), **claim)
    if way == "release":
        release(cluster, UID)
    else:
        desired = replace(desired, safety=ALLOWED)
    before = registry_of(cluster).owners
    topics = cluster.read_state().topics
    plan = applied(cluster, desired, "ours")
    (takeover,) = plan.takeovers
    assert (takeover.identity, takeover.name, takeover.objects) == (THEIRS, "billing", 4)
    assert takeover.released is (way == "release")
    assert takeover.last_run is not None
    assert takeover.last_run.id == "theirs"
    assert plan.allow_takeover == (() if way == "release" else (THEIRS,))
    assert plan.requests == ()
    assert {change.actions for change in plan.changes} == {(Action.ADOPT,)}
    assert {change.risks for change in plan.changes} == {(risks.PROJECT_TAKEN_OVER,)}
    assert cluster.read_state().topics == topics
    taken = {"topic/orders"} if "formerly" not in claim else set(before)
    for address, owner in registry_of(cluster).owners.items():
        mine = replace(before[address], project=UID) if address in taken else before[address]
        assert owner == mine


def test_what_the_documents_say_follows_in_the_next_plan(cluster: EmbeddedCluster) -> None:
    desired = ours(
        a_topic("orders", configs={"retention.ms": "3600000"}),
        ACL,
        formerly=[THEIRS],
        safety=ALLOWED,
    )
    applied(cluster, desired, "taking")
    plan = planned(cluster, desired)
    assert not plan.takeovers
    found = {change.address: change.actions for change in plan.changes}
    assert found == {
        "topic/orders": (Action.UPDATE,),
        "topic/log": (Action.DELETE,),
        QUOTA.address: (Action.DELETE,),
    }
    without = planned(cluster, ours(ACL, LOG, QUOTA, formerly=[THEIRS]))
    assert "topic/orders is protected" in refusal(without)


def test_the_takeover_is_what_an_offline_plan_says_too(cluster: EmbeddedCluster) -> None:
    release(cluster, UID)
    state = read_snapshot(write_snapshot(cluster.read_state()), "prod.json")
    desired = ours(ORDERS, formerly=[THEIRS])
    assert plan_of(desired, state).takeovers == planned(cluster, desired).takeovers


@pytest.mark.parametrize("to", [OTHERS, None], ids=["for another uid", "withdrawn"])
def test_a_release_counts_for_one_uid_until_it_is_withdrawn(
    cluster: EmbeddedCluster, to: str | None
) -> None:
    release(cluster, UID)
    plan = planned(cluster, ours(ORDERS, take_from=["billing"]))
    assert not plan.verdict.stops
    release(cluster, to)
    desired = ours(ORDERS, take_from=["billing"])
    assert "must release them first" in refusal(planned(cluster, desired))
    # It is looked for again under the lock.
    with pytest.raises(SafetyError, match="must release them first"):
        apply(cluster, plan, desired.project, "ours")
    assert set(owners(cluster).values()) == {THEIRS}


def test_an_allowance_is_for_the_uid_that_it_names(cluster: EmbeddedCluster) -> None:
    safety = Safety(replication_throttle=0, allow_takeover=("billing", OTHERS))
    plan = planned(cluster, ours(ORDERS, take_from=["billing"], safety=safety))
    assert "must release them first" in refusal(plan)


def test_only_its_own_project_can_release_it(cluster: EmbeddedCluster) -> None:
    with pytest.raises(SafetyError, match="never applied"):
        release(cluster, OTHERS, Project(name="payments", uid=UID))
    with pytest.raises(UsageError):
        release(cluster, THEIRS)


def test_the_owner_is_warned_of_its_release(cluster: EmbeddedCluster) -> None:
    release(cluster, UID)
    (warning,) = planned(cluster, theirs(ORDERS, LOG, ACL, QUOTA)).warnings
    assert "may take over the objects of this project" in str(warning)
    assert "--withdraw" in str(warning)


# Projects of one name, and first uids


def test_a_copied_folder_with_a_new_uid_gets_nothing(cluster: EmbeddedCluster) -> None:
    copy = theirs(ORDERS, LOG, ACL, QUOTA, uid="copied-uid")
    sentence = refusal(planned(cluster, copy))
    assert "give this project another name" in sentence
    assert "metadata.formerly: [their-uid]" in sentence
    assert "kgitops registry release --to copied-uid" in sentence
    empty = theirs(LOG, uid="copied-uid", formerly=["billing"])
    assert "must release them first" in refusal(planned(cluster, empty))
    beside = theirs(a_topic("beside"), uid="copied-uid", take_from=["billing"])
    assert "give this project another name" in refusal(planned(cluster, beside))


def test_a_copied_folder_with_the_same_uid_is_the_same_project(cluster: EmbeddedCluster) -> None:
    plan = planned(cluster, theirs(ORDERS, LOG, ACL, QUOTA))
    assert (plan.changes, plan.takeovers) == ((), ())


def test_a_project_that_adds_its_first_uid_names_itself() -> None:
    cluster = open_cluster()
    applied(cluster, a_desired(ORDERS, LOG, project="payments", uid=None), "first")
    later = ours(ORDERS, LOG, formerly=["payments"])
    assert "--allow-takeover payments" in refusal(planned(cluster, later))
    safety = Safety(replication_throttle=0, allow_takeover=("payments",))
    applied(cluster, replace(later, safety=safety), "second")
    assert set(owners(cluster).values()) == {UID}
    assert planned(cluster, later).changes == ()


def test_a_renamed_project_is_the_same_project(cluster: EmbeddedCluster) -> None:
    renamed = theirs(ORDERS, LOG, ACL, QUOTA, project="invoices", formerly=["billing"])
    plan = planned(cluster, renamed)
    assert not plan.verdict.stops
    assert (plan.changes, plan.takeovers) == ((), ())


def test_a_project_that_owns_nothing_needs_no_consent() -> None:
    cluster = open_cluster()
    applied(cluster, theirs(LOG), "theirs")
    applied(cluster, theirs(a_tombstone("topic/log"), a_topic("x", deletion_policy=DELETE)), "two")
    applied(cluster, theirs(a_tombstone("topic/x"), whole=False), "three")
    plan = applied(cluster, ours(ORDERS, formerly=[THEIRS]), "ours")
    assert plan.takeovers == ()
    assert registry_of(cluster).formerly[UID] == (THEIRS,)


# Unfinished runs


def cut_short(cluster: EmbeddedCluster) -> None:
    """A run of theirs that ends in the middle of two deletions and nine creations."""
    looks = iter([None] * 8)
    nine = [a_topic(f"t{number}") for number in range(9)]
    desired = theirs(ORDERS, *nine)
    sealed = sealed_now(planned(cluster, desired), FakeClock(), "cut")
    cut = Apply(cluster=cluster, project=desired.project, interrupted=lambda: next(looks, 15))
    assert cut.plan(sealed, "cut").verdict.exit is not ExitCode.SUCCESS


@every_claim
def test_a_project_with_an_unfinished_run_cant_be_taken_over(
    cluster: EmbeddedCluster, claim: dict[str, list[str]]
) -> None:
    plan = planned(cluster, ours(ORDERS, safety=ALLOWED, **claim))
    assert not plan.verdict.stops
    cut_short(cluster)
    sentence = refusal(planned(cluster, ours(ORDERS, safety=ALLOWED, **claim)))
    assert "its run cut, begun" in sentence
    assert "`kgitops apply --resume -c local` in that project" in sentence
    project = ours(**claim).project
    with pytest.raises(SafetyError, match="did not finish"):
        apply(cluster, plan, project, "ours")
    # Nor does the claim resume that run.
    before = cluster.read_state().topics
    assert Apply(cluster=cluster, project=project).resume(UID) is None
    assert cluster.read_state().topics == before
    resumed = Apply(cluster=cluster, project=theirs().project).resume(THEIRS)
    assert resumed is not None
    assert resumed.verdict.exit is ExitCode.SUCCESS


def test_a_plan_of_the_claimant_does_not_supersede_the_others_run(
    cluster: EmbeddedCluster,
) -> None:
    cut_short(cluster)
    applied(cluster, ours(a_topic("own"), take_from=["billing"]), "ours")
    assert registry_of(cluster).runs["cut"].unfinished


def test_its_own_unfinished_run_comes_first(cluster: EmbeddedCluster) -> None:
    looks = iter([None] * 3)
    nine = ours(*(a_topic(f"t{number}") for number in range(9)))
    sealed = sealed_now(planned(cluster, nine), FakeClock(), "cut")
    cut = Apply(cluster=cluster, project=nine.project, interrupted=lambda: next(looks, 15))
    assert cut.plan(sealed, "cut").verdict.exit is not ExitCode.SUCCESS
    plan = planned(cluster, ours(ORDERS, take_from=["billing"], safety=ALLOWED))
    assert "finish it with `kgitops apply --resume -c local`" in refusal(plan)


# The project that lost its objects


def test_the_next_plan_of_the_loser_names_who_when_and_which_run(
    cluster: EmbeddedCluster,
) -> None:
    applied(cluster, ours(ORDERS, LOG, take_from=["billing"], safety=ALLOWED), "ours")
    plan = planned(cluster, theirs(ORDERS, ACL, QUOTA))
    (warning,) = plan.warnings
    assert "the project 'payments' (6f1c0c5e" in str(warning)
    assert "in its run ours of 20" in str(warning)
    assert "took over 2 objects of this project: topic/log, topic/orders" in str(warning)
    sentence = refusal(plan)
    assert "topic/orders belongs to the project 'payments', which took it over" in sentence
    assert "in its run ours of 20" in sentence
    # An apply of a plan that said so ends the warning; a plan from before does not.
    assert registry_of(cluster).takeovers
    applied(cluster, theirs(ACL, QUOTA, a_topic("more")), "theirs-2")
    assert not registry_of(cluster).takeovers
    assert planned(cluster, theirs(ACL, QUOTA, a_topic("more"))).warnings == ()


def test_a_plan_from_before_the_takeover_does_not_end_the_warning(
    cluster: EmbeddedCluster,
) -> None:
    old = theirs(ACL, QUOTA, a_topic("more"), ORDERS, LOG)
    plan = planned(cluster, old)
    applied(cluster, ours(LOG, take_from=["billing"], safety=ALLOWED), "ours")
    apply(cluster, plan, old.project, "theirs-2")
    (warning,) = planned(cluster, theirs(ACL, QUOTA, a_topic("more"), ORDERS)).warnings
    assert "topic/log" in str(warning)


def test_a_project_that_was_taken_over_whole_is_told_and_needs_consent_to_come_back(
    cluster: EmbeddedCluster,
) -> None:
    applied(cluster, ours(ORDERS, LOG, ACL, QUOTA, formerly=[THEIRS], safety=ALLOWED), "ours")
    back = theirs(ORDERS, a_topic("more"))
    sentence = refusal(planned(cluster, back))
    assert "says that it was formerly" in sentence
    assert "took over its objects in its run ours" in sentence
    # A claim of its own does not let it in, by either side of the two.
    more = theirs(a_topic("more"), take_from=["payments"])
    assert "says that it was formerly" in refusal(planned(cluster, more))
    claim = theirs(ORDERS, a_topic("more"), take_from=["payments"])
    assert "must release them first" in refusal(planned(cluster, claim))
    safety = Safety(replication_throttle=0, allow_takeover=(UID,))
    applied(cluster, replace(claim, safety=safety), "back")
    assert owners(cluster)["topic/orders"] == THEIRS
    assert registry_of(cluster).formerly.get(UID, ()) == ()
    applied(cluster, theirs(ORDERS, a_topic("more")), "more")
    # What it makes now is not the other one's, whose claim is one again.
    plan = planned(cluster, ours(LOG, ACL, QUOTA, formerly=[THEIRS]))
    assert "must release them first" in refusal(plan)


# Saved and forged plans


def test_a_plan_goes_stale_when_the_other_project_is_applied(cluster: EmbeddedCluster) -> None:
    desired = ours(ORDERS, formerly=[THEIRS], safety=ALLOWED)
    plan = planned(cluster, desired)
    applied(cluster, theirs(ORDERS, LOG, ACL, QUOTA, a_topic("more")), "again")
    with pytest.raises(StaleError, match="has changed since the plan was made"):
        apply(cluster, plan, desired.project, "ours")


def test_a_plan_with_a_claim_that_was_removed_is_refused(cluster: EmbeddedCluster) -> None:
    plan = planned(cluster, ours(ORDERS, formerly=[THEIRS], safety=ALLOWED))
    with pytest.raises(SafetyError, match="does not claim"):
        apply(cluster, plan, ours().project, "ours")


def test_a_forged_plan_takes_no_more_than_an_honest_one(cluster: EmbeddedCluster) -> None:
    desired = ours(ORDERS, LOG, formerly=[THEIRS], safety=ALLOWED)
    plan = planned(cluster, desired)
    first = next(change for change in plan.changes if change.address == "topic/orders")
    rest = [change for change in plan.changes if change is not first]
    after = first.owner_after
    assert after is not None
    lowered = replace(after, last_applied={**after.last_applied, "deletionPolicy": "Delete"})
    removed = planned(cluster, theirs(ORDERS, ACL, QUOTA)).changes
    forged = {
        "no takeover": replace(plan, takeovers=()),
        "no allowance": replace(plan, allow_takeover=()),
        "left out": replace(plan, changes=tuple(rest)),
        "lowered": replace(plan, changes=(replace(first, owner_after=lowered), *rest)),
        "nobody's": replace(plan, changes=(replace(first, owner_after=None), *rest)),
        "a deletion": replace(plan, changes=(*removed, *rest)),
        "milder": replace(plan, changes=(replace(first, risks=(risks.REGISTRY_ONLY,)), *rest)),
        "another name": replace(
            plan, takeovers=tuple(replace(it, name="old") for it in plan.takeovers)
        ),
        "fewer objects": replace(
            plan, takeovers=tuple(replace(it, objects=1) for it in plan.takeovers)
        ),
        "another last run": replace(
            plan, takeovers=tuple(replace(it, last_run=None) for it in plan.takeovers)
        ),
        "another kind of claim": replace(
            plan, takeovers=tuple(replace(it, kind="takeFrom") for it in plan.takeovers)
        ),
    }
    for name, one in forged.items():
        with pytest.raises(KgitopsError):
            Apply(cluster=cluster, project=desired.project).plan(
                sealed_now(one, FakeClock(), name), name
            )
        assert set(owners(cluster).values()) == {THEIRS}, name
        assert set(cluster.read_state().topics) == {"orders", "log"}


def test_a_project_with_a_part_only_takes_nothing_whole(cluster: EmbeddedCluster) -> None:
    part = ours(ORDERS, LOG, formerly=[THEIRS], targets=["topic/orders"], safety=ALLOWED)
    assert "plan the whole project" in refusal(planned(cluster, part))
    declared = ours(ORDERS, LOG, take_from=[THEIRS], targets=["topic/orders"], safety=ALLOWED)
    assert [it.address for it in planned(cluster, declared).changes] == ["topic/orders"]


def test_drift_takes_nothing_over(cluster: EmbeddedCluster) -> None:
    project = ours(formerly=[THEIRS], take_from=["billing"]).project
    drift = desired_from_registry(
        project, registry_of(cluster), safety=Safety(), principal="User:a"
    )
    plan = planned(cluster, drift)
    assert (plan.changes, plan.takeovers, plan.refusals) == ((), (), ())


def test_a_project_is_taken_over_with_all_that_it_took_over(cluster: EmbeddedCluster) -> None:
    """What a project took over before is taken over with it; its old uid alone is no claim."""
    applied(cluster, ours(ORDERS, LOG, ACL, QUOTA, formerly=[THEIRS], safety=ALLOWED), "ours")
    third = a_desired(ORDERS, project="third", uid=OTHERS, formerly=[THEIRS])
    sentence = refusal(planned(cluster, third))
    assert "is a former identity of the project 'payments'" in sentence
    assert f"({UID}); claim that project instead" in sentence
    safety = Safety(replication_throttle=0, allow_takeover=(UID,))
    whole = a_desired(ORDERS, project="third", uid=OTHERS, formerly=[UID], safety=safety)
    applied(cluster, whole, "third")
    assert registry_of(cluster).formerly == {OTHERS: tuple(sorted([UID, THEIRS]))}
    assert set(owners(cluster).values()) == {OTHERS}


def test_another_projects_binding_is_named_by_its_address(cluster: EmbeddedCluster) -> None:
    plan = planned(cluster, ours(an_acl(a_binding("User:new")), ACL))
    assert ACL.address in refusal(plan)


def test_a_project_with_objects_of_a_newer_kgitops_is_not_taken_over() -> None:
    unknown = {
        f"weird/{name}": Owner(project=THEIRS, last_applied={"kind": "Weird"}, adopted=False)
        for name in "xy"
    }
    state = a_cluster(owners=unknown, projects={UID: "payments", THEIRS: "billing"})
    plan = plan_of(ours(a_topic("own"), formerly=[THEIRS]), state)
    assert plan.verdict.exit is ExitCode.REFUSED
    assert plan.changes == ()
    assert (
        f"the project 'billing' ({THEIRS}) owns 2 objects of kinds that this version of kgitops "
        "does not know, such as weird/x; upgrade it first"
    ) in {it.sentence for it in plan.refusals}
