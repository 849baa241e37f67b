"""ACLs that a plan leaves alone: another project's copies, and brokers that keep no ACLs."""

from builders import a_binding, a_cluster, a_desired, an_acl, an_owner, plan_of
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import APP, NO_LIMITS, SALES, a_member, a_virtual_cluster, scoped

from kgitops.model.cluster_state import ClusterState
from kgitops.model.verdict import ExitCode
from kgitops.plan.document.plan import Action

HOME = a_virtual_cluster(SALES)
OLD = a_binding(APP, "Read", "g", resource="group")
COPY = an_acl(scoped(SALES, APP, "Read", "g", resource="group"))


def home(*more: object) -> ClusterState:
    """The virtual cluster, applied, with an old right of the user on the cluster itself."""
    made = plan_of(a_desired(HOME, safety=NO_LIMITS), a_cluster())
    state = Model(a_cluster()).apply(made).state
    return replace(state, acls=state.acls | {OLD, *more})  # type: ignore[arg-type]


def test_a_copy_that_another_project_manages_is_not_taken() -> None:
    """VC-190: copyAclsFrom makes this project the owner of what it copies, of nothing else."""
    state = home(COPY.binding)
    assert state.registry
    owners = {**state.registry.owners, COPY.address: an_owner(COPY, project="theirs")}
    state = replace(state, registry=replace(state.registry, owners=owners))
    member = a_member(copy="kafka-cluster")
    plan = plan_of(a_desired(HOME, member, safety=NO_LIMITS), state)
    assert plan.verdict.exit is ExitCode.REFUSED
    (reason,) = plan.verdict.reasons
    assert f"{COPY.address}, which would be copied for {member.address}" in reason.sentence
    assert "belongs to the project 'theirs'" in reason.sentence
    assert COPY.address not in {change.address for change in plan.changes}


def test_where_brokers_keep_no_acls_the_registry_may_still_forget_one() -> None:
    """Nothing is asked of the brokers then, so that nothing stands in the way."""
    acl, other = an_acl(), an_acl(a_binding("User:other"))
    owners = {item.address: an_owner(item) for item in (acl, other)}
    state = replace(a_cluster(owners=owners), has_authorizer=False)
    plan = plan_of(a_desired(other, safety=NO_LIMITS), state)
    found = {change.address: change.actions for change in plan.changes}
    assert found[acl.address] == (Action.FORGET,)
    (finding,) = plan.findings
    assert other.address in finding.problem
    assert "the cluster has no authorizer" in finding.problem
