"""Applying an approved plan: exactly that plan, or nothing."""

from collections.abc import Mapping, Sequence
from functools import partial

from kgitops.apply.checks import (
    Recheck,
    check_cluster,
    check_envelope,
    check_logins,
    check_plan,
    check_steps,
)
from kgitops.apply.context import ApplyContext
from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.damage import require_sound
from kgitops.apply.journal.journal import Journal, RunState, old_nonces, open_run, read_notices
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.lock import LeaseKeeper, acquire
from kgitops.apply.lock_claims import claimant
from kgitops.apply.progress import Progress
from kgitops.apply.result import ApplyResult, conclude
from kgitops.apply.rights.replan import check_replanned
from kgitops.apply.run.reading import capabilities_for, read_to_check
from kgitops.apply.run.resume import pending_undo_requests, superseding_records
from kgitops.apply.run.runner import Runner
from kgitops.apply.steps import Step, build_steps
from kgitops.approval import ApprovedPlan
from kgitops.cluster.port import RegistryEntry
from kgitops.desired.claims import former_identities
from kgitops.desired.state import Project
from kgitops.model.registry import RegistryState
from kgitops.model.requests import CreateAclRequest
from kgitops.plan.document.file import SealedPlan


def apply_plan(
    approved: ApprovedPlan,
    context: ApplyContext,
    *,
    holder: str,
    run_id: str,
    project: Project,
    recheck: Recheck | None = None,
) -> ApplyResult:
    """Execute the plan for ``project`` and return the outcome of each step.

    Everything is checked before the lock is acquired, and again while it is held.

    Raises:
        KgitopsError: the plan is refused, and no change request was sent.
    """
    sealed = approved.sealed
    steps = build_steps(sealed.plan)
    _check(context, sealed, steps, project, recheck)
    if not steps:
        return conclude(Progress(steps=steps), run_id=run_id, begun=False, signal=None)
    lock = acquire(context, holder=claimant(holder, project, run_id))
    if lock is None:
        return conclude(
            Progress(steps=steps), run_id=run_id, begun=False, signal=context.interrupted()
        )
    try:
        check = partial(_check, context, sealed, steps, project, recheck)
        entries, registry = LeaseKeeper(context, lock).run(check)
        latest = latest_values(entries)
        run, records = open_run(
            sealed,
            run_id=run_id,
            holder=holder,
            started=context.clock.now(),
            project=project,
            registry=registry,
        )
        mine = {project.identity, *former_identities(project, registry)}
        opening = [
            *superseding_records(context, latest, sealed.plan, mine),
            *old_nonces(latest, context.earlier_now()),
            *(read_notices(entries, sealed.plan, project, registry) if registry else ()),
            *records,
        ]
        run_state = RunState(context, Journal(lock, run, opening), steps)
        context.on_event(ApplyStarted(run_id=run_id, project=project.name, planned=len(steps)))
        with run_state.finishing():
            Runner(context, lock=lock, run_state=run_state, principal=sealed.plan.principal).run()
            return run_state.close()
    finally:
        lock.release()


def _check(
    context: ApplyContext,
    sealed: SealedPlan,
    steps: Mapping[str, Step],
    project: Project,
    recheck: Recheck | None,
) -> tuple[Sequence[RegistryEntry], RegistryState | None]:
    """Check all that must hold before the first change; return the registry's log and state."""
    entries = context.cluster.registry.read() or ()
    require_sound(entries)
    latest = latest_values(entries)
    check_envelope(sealed, latest, now=context.clock.now())
    state = read_to_check(context.cluster, sealed.plan, steps.values())
    check_cluster(sealed.plan, state.cluster_id, context.cluster_name)
    check_steps(steps, context.cluster)
    check_plan(sealed.plan, sealed.plan.changes, steps, state, recheck, project=project)
    created = [step.request for step in steps.values()]
    acls = (it.binding for it in created if isinstance(it, CreateAclRequest))
    check_replanned(
        sealed.plan,
        state,
        project,
        capabilities_for(context.cluster, (*acls, *state.acls)),
        pending_undo_requests(entries, project),
    )
    check_logins(context, steps.values(), sealed.plan.principal)
    return entries, state.registry
