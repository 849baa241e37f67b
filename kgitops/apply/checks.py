"""Checks that a plan must pass before an apply changes anything."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from kgitops.apply.context import ApplyContext
from kgitops.apply.effects import check_preconditions
from kgitops.apply.journal.reading import Latest, dropped_until, is_spent
from kgitops.apply.rights.decision import check_rights
from kgitops.apply.secrets import check_passwords
from kgitops.apply.steps import Step
from kgitops.approval import refusal
from kgitops.cluster.port import Cluster
from kgitops.desired.state import Project
from kgitops.kinds.credentials import lockouts
from kgitops.model import clock as moments
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError, SafetyError, StaleError, UntrustedPlanError
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.virtual_clusters import EXCLUSIVE, ChangeType, EntityType
from kgitops.model.verdict import Reason, decide
from kgitops.model.wording import resume_command
from kgitops.plan.document.file import SealedPlan, check_usable
from kgitops.plan.document.plan import Change, Plan

Recheck = Callable[[Plan, Collection[str], ClusterState], tuple[Reason, ...]]
"""Judges the steps of a plan (by id) that are still to be sent again, on the current cluster.

The cluster state has only the plan's own topics.
"""


def check_envelope(sealed: SealedPlan, latest: Latest, *, now: datetime) -> None:
    """Check that the plan has not expired and was not applied before.

    Raises:
        UntrustedPlanError: it has expired, it was applied, or nothing tells if it was.
        SafetyError: the record of dropped nonces can't be read.
    """
    check_usable(sealed, now=now)
    if is_spent(latest, sealed.nonce):
        raise UntrustedPlanError(
            f"this plan was already applied; make a new plan (`{resume_command()}` continues a "
            "run that did not finish)"
        )
    dropped = dropped_until(latest)
    if dropped is not None and sealed.expires <= dropped:
        raise UntrustedPlanError(
            f"the plan expires at {moments.to_text(sealed.expires)}, and this cluster no longer "
            f"keeps which plans that expire until {moments.to_text(dropped)} were applied; make a "
            "new plan, and see that the clocks of all machines that apply are right"
        )


def check_cluster(plan: Plan, cluster_id: str, name: str = "") -> None:
    """Check that the cluster of this ``name``, if it has one, is the one of the plan.

    Raises:
        UntrustedPlanError: it is another cluster.
    """
    if plan.target.cluster_id != cluster_id:
        here = f"this is {name} (id {cluster_id})" if name else f"this one has the id {cluster_id}"
        raise UntrustedPlanError(
            f"the plan was made for the cluster {plan.target.name} (id {plan.target.cluster_id}), "
            f"{here}; make a new plan for this cluster"
        )


def check_steps(steps: Mapping[str, Step], cluster: Cluster) -> None:
    """Check that the cluster supports all requests.

    Raises:
        KgitopsError: it does not support one.
    """
    for step in steps.values():
        if step.request is not None and not cluster.capabilities.supports(step.api):
            raise KgitopsError(
                f"{step.address}: this cluster can't carry out {step.api}; make a new plan for it"
            )


def check_logins(context: ApplyContext, steps: Iterable[Step], principal: str) -> None:
    """Check what ``steps`` do to logins: passwords can be had, and kgitops' own is left alone.

    Raises:
        SafetyError: kgitops itself would be shut out, or a password would travel in the clear.
        KgitopsError: a password is missing.
    """
    steps = tuple(steps)
    capabilities = context.cluster.capabilities
    changes = {step.address: step.change for step in steps}
    lockout = next(lockouts(changes.values(), capabilities.client, principal), None)
    if lockout is not None:
        raise SafetyError(lockout)
    check_passwords([step.request for step in steps], context.passwords, capabilities)


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
    """Check the cluster, the preconditions and rights of ``changes``, and ``recheck``'s objections.

    ``pending`` are the steps that may still be sent, which ``recheck`` judges. ``project`` is the
    project that applies, whatever the plan says.

    Raises:
        UntrustedPlanError: it is another cluster, or the plan contradicts itself.
        SafetyError: the project has no right to a change.
        StaleError: something differs; object and field are named.
        KgitopsError: ``recheck`` objects.
    """
    check_cluster(plan, state.cluster_id)
    base = plan.base.registry
    if base and base.topic_id != (state.registry.topic_id if state.registry else None):
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
    verdict = decide(recheck(plan, pending, state) if recheck else (), changes=True)
    if verdict.stops:
        raise refusal(verdict)


def check_concurrent_changes(plan: Plan, changes: Sequence[Change], state: ClusterState) -> None:
    """Check that no concurrent change blocks ``changes``.

    Brokers would refuse to delete a virtual cluster that has got a new member meanwhile, or a topic
    that has got a new link, but only after all else that the plan removes is gone (VC-413).

    Raises:
        StaleError: one does; the object is named.
    """
    leaving = frozenset(_leaving(_requests(plan.changes)))
    members = _MemberIndex(state)
    problem = next(
        (
            f"{change.address}: {blocker}"
            for change in changes
            for blocker in _find_blockers(_requests([change]), leaving, members)
        ),
        None,
    )
    if problem:
        raise StaleError(f"{problem}; make a new plan")


def _requests(changes: Iterable[Change]) -> Iterator[req.Request]:
    return (planned.request for change in changes for planned in change.requests)


def _leaving(requests: Iterable[req.Request]) -> Iterator[str]:
    """The addresses of the members that the plan removes or moves."""
    for request in requests:
        if not isinstance(request, req.AlterVirtualClusterRequest):
            continue
        entity_type, name = request.entity_type, request.entity_name
        if entity_type is None or name is None:
            continue
        if request.change is ChangeType.REMOVE or request.replaces is not None:
            yield member_address(request.virtual_cluster, entity_type, name)
        if request.moved_from is not None:
            yield member_address(request.moved_from, entity_type, name)


class _MemberIndex:
    """Indexes of links and members of virtual clusters, built only when needed."""

    def __init__(self, state: ClusterState) -> None:
        self._virtual_clusters = state.virtual_clusters

    @cached_property
    def links_to(self) -> Mapping[str, Sequence[str]]:
        """The addresses of the links to each physical topic."""
        links: defaultdict[str, list[str]] = defaultdict(list)
        for virtual_cluster in self._virtual_clusters.values():
            for link in virtual_cluster.links.values():
                address = member_address(virtual_cluster.name, EntityType.TOPIC, link.name)
                links[link.topic].append(address)
        return links

    @cached_property
    def bound(self) -> Mapping[tuple[EntityType, str], str]:
        """The virtual cluster of each user and client id."""
        return {
            (entity_type, member): virtual_cluster.name
            for virtual_cluster in self._virtual_clusters.values()
            for entity_type in EXCLUSIVE
            for member in virtual_cluster.members(entity_type)
        }

    def members_of(self, name: str) -> Iterator[str]:
        """The addresses of all members of a virtual cluster."""
        if name in self._virtual_clusters:
            for entity_type in EntityType:
                for member in sorted(self._virtual_clusters[name].members(entity_type)):
                    yield member_address(name, entity_type, member)


def _find_blockers(
    requests: Iterable[req.Request], leaving: frozenset[str], index: _MemberIndex
) -> Iterator[str]:
    for request in requests:
        match request:
            case req.DeleteTopicRequest(topic=topic):
                links = (it for it in index.links_to.get(topic, ()) if it not in leaving)
                yield from (f"link {link} was added after the plan was made" for link in links)
            case req.DeleteVirtualClusterRequest(virtual_cluster=name):
                members = (it for it in index.members_of(name) if it not in leaving)
                yield from (
                    f"member {member} was added after the plan was made" for member in members
                )
            case req.AlterVirtualClusterRequest(
                change=ChangeType.ADD, entity_type=EntityType() as entity_type, moved_from=None
            ) if entity_type in EXCLUSIVE:
                bound_to = index.bound.get((entity_type, request.entity_name or ""))
                if bound_to not in (None, request.virtual_cluster):
                    yield f"it was bound to the virtual cluster {bound_to} after the plan was made"
            case _:
                pass
