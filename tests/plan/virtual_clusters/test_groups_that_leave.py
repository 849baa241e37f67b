"""A group that is no longer declared leaves its virtual cluster, and keeps what it committed."""

import pytest
from builders import a_cluster, a_desired, only_change, plan_of
from laws.cluster_model import Model
from msgspec.structs import replace
from plan.worked_scenario import ANALYTICS, NO_LIMITS, SALES, a_group, a_virtual_cluster

from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType
from kgitops.plan.document.plan import Action, Plan

ADDRESS = f"vc/{SALES}/group/g"
HOME = a_virtual_cluster(SALES, deletion_policy=DeletionPolicy.DELETE)
OTHER = a_virtual_cluster(ANALYTICS)


def removal(state: ClusterState) -> Plan:
    return plan_of(a_desired(HOME, OTHER, safety=NO_LIMITS), state)


def having_group(*, written: bool) -> ClusterState:
    """As documents say it: ``deletionPolicy`` is Orphan, written or not."""
    group = replace(
        a_group("g"), deletion_policy=DeletionPolicy.ORPHAN, deletion_policy_written=written
    )
    found = plan_of(a_desired(HOME, OTHER, group, safety=NO_LIMITS), a_cluster())
    return Model(a_cluster()).apply(found).state


@pytest.mark.parametrize("written", [False, True])
def test_it_leaves_the_virtual_cluster_and_its_offsets_stay(written: bool) -> None:
    """VC-119, VC-404: else nothing declared would ever get it out, nor the virtual cluster away."""
    state = having_group(written=written)
    found = removal(state)
    change = only_change(found)
    assert (change.actions, change.risk.name) == ((Action.DELETE,), "group-remove")
    (request,) = (planned.request for planned in change.requests)
    assert isinstance(request, AlterVirtualClusterRequest)
    assert request.change is ChangeType.REMOVE
    assert "what it has committed stays" in change.because
    after = Model(state).apply(found).state
    assert not after.virtual_clusters[SALES].groups
    assert not removal(after).changes
    gone = plan_of(a_desired(OTHER, safety=NO_LIMITS), state)
    assert Model(state).apply(gone).state.virtual_clusters.keys() == {ANALYTICS}


def test_one_that_was_found_there_is_only_forgotten() -> None:
    """VC-119."""
    state = having_group(written=False)
    assert state.registry is not None
    owners = state.registry.owners
    adopted = {**owners, ADDRESS: replace(owners[ADDRESS], adopted=True)}
    state = replace(state, registry=replace(state.registry, owners=adopted))
    change = only_change(removal(state))
    assert (change.actions, change.requests) == ((Action.FORGET,), ())
