"""Checks that a plan must pass before an apply changes anything."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from kgitops.apply.journal.reading import Latest, is_spent
from kgitops.apply.observe.preconditions import check_preconditions
from kgitops.apply.observe.virtual_clusters import topic_behind
from kgitops.apply.rights.decision import check_rights
from kgitops.apply.rights.unowned import check_migrated_acls
from kgitops.apply.steps.steps import Step
from kgitops.approval.approve import refusal
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, SafetyError, StaleError, UntrustedPlanError
from kgitops.model.registry import COMMAND_PROJECT
from kgitops.model.requests import (
    AlterVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, EntityType
from kgitops.model.verdict import Reason, decide
from kgitops.plan.document.file import SealedPlan, check_usable
from kgitops.plan.document.plan import Change, Plan

Recheck = Callable[[Plan, Collection[str], ClusterState], tuple[Reason, ...]]
"""Judges what is still to be sent of a plan (the ids of its steps) anew, on the cluster as it is.

Of the topics only the plan's own are read.
"""


def check_envelope(sealed: SealedPlan, latest: Latest, *, now: datetime) -> None:
    """The plan's time is not over, and it was not applied before.

    Raises:
        UntrustedPlanError: one of these is not so.
    """
    check_usable(sealed, now=now)
    if is_spent(latest, sealed.nonce):
        raise UntrustedPlanError(
            "this plan was already applied; make a new plan (a run that did not finish goes on "
            "with `kgitops apply --resume`)"
        )


def check_cluster(plan: Plan, state: ClusterState) -> None:
    """The cluster is the one that the plan was made for.

    Raises:
        UntrustedPlanError: it is another cluster.
    """
    if plan.target.cluster_id != state.cluster_id:
        raise UntrustedPlanError(
            f"the plan was made for the cluster {plan.target.cluster_id}, this is "
            f"{state.cluster_id}; make a new plan for this cluster"
        )


def check_steps(plan: Plan, steps: Mapping[str, Step], cluster: Cluster) -> None:
    """The cluster can do all that is planned, and nothing unmanaged is deleted.

    Raises:
        KgitopsError: the cluster can't do it.
        SafetyError: something that nobody manages would be deleted.
    """
    unguarded = _may_be_unmanaged(plan)
    for step in steps.values():
        if step.request is None:
            continue
        if not cluster.capabilities.supports(step.api):
            raise KgitopsError(
                f"{step.address}: this cluster can't carry out {step.api}; make a new plan for it"
            )
        managed = all(expected.owner is not None for expected in step.expects)
        if _deletes(step.request) and not managed and step.id not in unguarded:
            raise SafetyError(
                f"{step.address} is managed by nobody, so it is not deleted; make a new plan"
            )


def _may_be_unmanaged(plan: Plan) -> frozenset[str]:
    """The requests that may delete what nobody manages, because the same plan says why.

    An ACL that a member replaces which is declared, now or before (VC-191), and the link of a topic
    that this project manages. A command that a person gave is such a reason itself.
    """
    if plan.desired.identity == COMMAND_PROJECT:
        return frozenset(planned.id for planned in plan.requests)
    members = {change.address for change in plan.changes if change.owner_after is not None}
    declared = {change.address for change in plan.changes if change.owner_before is not None}
    found = set()
    for change in plan.changes:
        checked = {
            expected.object
            for expected in change.preconditions
            if expected.exists and expected.owner == plan.desired.identity
        }
        for planned in change.requests:
            request = planned.request
            if isinstance(request, DeleteAclRequest):
                known = request.migrated_to in members | checked
            else:
                known = topic_behind(change.address) in declared
            if known:
                found.add(planned.id)
    return frozenset(found)


def _deletes(request: Request) -> bool:
    match request:
        case AlterVirtualClusterRequest():
            return request.change is ChangeType.REMOVE and request.options is None
        case (
            DeleteTopicRequest() | DeleteAclRequest() | DeleteVirtualClusterRequest()
            | DeleteGroupRequest()
        ):  # fmt: skip
            return True
        case _:
            return False


def check_plan(
    plan: Plan,
    changes: Sequence[Change],
    pending: Collection[str],
    state: ClusterState,
    recheck: Recheck | None,
    *,
    project: Project,
    resumed: bool = False,
) -> None:
    """The cluster is the plan's, what ``changes`` are about is as planned, nothing else objects.

    ``pending`` are the steps that may still be sent: ``recheck`` is asked about them. ``project``
    is who applies, whatever the plan says.

    Raises:
        UntrustedPlanError: it is another cluster, or the plan is not what it says.
        SafetyError: the project has no right to a change.
        StaleError: something differs; object and field are named.
        KgitopsError: what ``recheck`` found.
    """
    check_cluster(plan, state)
    base = plan.base.registry_topic_id
    if base is not None and base != (state.registry.topic_id if state.registry else None):
        raise StaleError(
            "the registry is not the one that the plan was made from; find out who replaced it, "
            "then make a new plan"
        )
    preconditions = [expected for change in changes for expected in change.preconditions]
    mismatches = check_preconditions(preconditions, state)
    if mismatches:
        others = f" (and {len(mismatches) - 1} more differ)" if len(mismatches) > 1 else ""
        raise StaleError(f"{mismatches[0]}{others}; make a new plan")
    check_rights(plan, changes, state, project, resumed=resumed)
    check_concurrent_changes(plan, changes, state)
    check_migrated_acls(plan, changes, state)
    verdict = decide(recheck(plan, pending, state) if recheck else (), changes=True)
    if verdict.stops:
        raise refusal(verdict)


def check_concurrent_changes(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """Nothing is in the way of ``changes`` that the plan does not remove itself.

    Brokers would refuse to delete a virtual cluster that somebody was bound to meanwhile, or a
    topic that was linked to, but only when all else that the plan removes is gone (VC-413).

    Raises:
        StaleError: something is; object and field are named.
    """
    leaving = frozenset(_leaving(_requests(plan.changes)))
    places = _Places(state)
    problem = next(
        (
            f"{change.address}: {found}"
            for change in changes
            for found in _in_the_way(_requests([change]), leaving, places)
        ),
        None,
    )
    if problem:
        raise StaleError(f"{problem}; make a new plan")


def _requests(changes: Iterable[Change]) -> Iterator[Request]:
    return (planned.request for change in changes for planned in change.requests)


def _leaving(requests: Iterable[Request]) -> Iterator[str]:
    """The addresses of what the plan takes away from where it is."""
    for request in requests:
        if not isinstance(request, AlterVirtualClusterRequest):
            continue
        entity_type, name = request.entity_type, request.entity_name
        if entity_type is None or name is None:
            continue
        if request.change is ChangeType.REMOVE or request.replaces is not None:
            yield member_address(request.virtual_cluster, entity_type, name)
        if request.moved_from is not None:
            yield member_address(request.moved_from, entity_type, name)


class _Places:
    """Where everything of virtual clusters is, looked up only where a plan asks."""

    def __init__(self, state: ClusterState) -> None:
        self._found = state.virtual_clusters

    @cached_property
    def links_to(self) -> Mapping[str, Sequence[str]]:
        """The addresses of the links to each physical topic."""
        links: defaultdict[str, list[str]] = defaultdict(list)
        for found in self._found.values():
            for link in found.links.values():
                address = member_address(found.name, EntityType.TOPIC, link.name)
                links[link.topic].append(address)
        return links

    @cached_property
    def bound(self) -> Mapping[tuple[EntityType, str], str]:
        """The virtual cluster of each user and client id."""
        return {
            (entity_type, member): found.name
            for found in self._found.values()
            for entity_type in EXCLUSIVE
            for member in found.members(entity_type)
        }

    def members_of(self, name: str) -> Iterator[str]:
        """The addresses of all that is in a virtual cluster."""
        if name in self._found:
            for entity_type in EntityType:
                for member in sorted(self._found[name].members(entity_type)):
                    yield member_address(name, entity_type, member)


def _in_the_way(
    requests: Iterable[Request], leaving: frozenset[str], places: _Places
) -> Iterator[str]:
    for request in requests:
        match request:
            case DeleteTopicRequest(topic=topic):
                others = (it for it in places.links_to.get(topic, ()) if it not in leaving)
                yield from (f"its links were no others and are {it} as well" for it in others)
            case DeleteVirtualClusterRequest(virtual_cluster=name):
                others = (it for it in places.members_of(name) if it not in leaving)
                yield from (f"what is in it was nothing else and is {it} as well" for it in others)
            case AlterVirtualClusterRequest(
                change=ChangeType.ADD, entity_type=EntityType() as entity_type, moved_from=None
            ) if entity_type in EXCLUSIVE:
                at = places.bound.get((entity_type, request.entity_name or ""))
                if at not in (None, request.virtual_cluster):
                    yield f"the virtual cluster that it is in was none and is {at}"
            case _:
                pass
