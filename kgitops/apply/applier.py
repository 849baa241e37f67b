"""Applying an approved plan: exactly it, or nothing."""

from collections.abc import Mapping

from kgitops.apply.checks import (
    Recheck,
    check_cluster,
    check_envelope,
    check_plan,
    check_steps,
)
from kgitops.apply.context import Surroundings
from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.journal import Journal, Ledger
from kgitops.apply.journal.reading import Latest, known_projects, latest_values
from kgitops.apply.journal.records import old_nonces, open_run
from kgitops.apply.lock.lock import acquire
from kgitops.apply.result import ApplyResult, conclude
from kgitops.apply.run.reading import look
from kgitops.apply.run.resume import superseding_records
from kgitops.apply.run.runner import Runner
from kgitops.apply.steps.progress import Progress
from kgitops.apply.steps.steps import Step, build_steps
from kgitops.approval.approve import ApprovedPlan
from kgitops.desired.last_applied import former_identities, identities_to_remember
from kgitops.desired.state import Project
from kgitops.plan.document.file import SealedPlan


def apply_plan(
    approved: ApprovedPlan,
    around: Surroundings,
    *,
    holder: str,
    run_id: str,
    project: Project,
    recheck: Recheck | None = None,
) -> ApplyResult:
    """Execute the plan for ``project``, and say what became of each of its steps.

    Everything is checked before the lock is asked for, and again once it is held.

    Raises:
        KgitopsError: the plan is refused, and no change request was sent.
    """
    sealed = approved.sealed
    steps = build_steps(sealed.plan)
    _check(around, sealed, steps, project, recheck)
    if not steps:
        return conclude(Progress(steps=steps), run_id=run_id, begun=False, signal=None)
    lock = acquire(around, holder=holder)
    if lock is None:
        return conclude(
            Progress(steps=steps), run_id=run_id, begun=False, signal=around.interrupted()
        )
    try:
        latest = _check(around, sealed, steps, project, recheck)
        known = known_projects(latest)
        run, records = open_run(
            sealed,
            run_id=run_id,
            holder=holder,
            started=around.clock.now(),
            formerly=identities_to_remember(project, known),
        )
        mine = {project.identity, *former_identities(project, known)}
        opening = [
            *superseding_records(around, latest, sealed.plan, mine),
            *old_nonces(latest, around.clock.now()),
            *records,
        ]
        ledger = Ledger(around, Journal(lock, run, opening), steps)
        around.on_event(ApplyStarted(run_id=run_id, project=project.name, planned=len(steps)))
        Runner(around, lock=lock, ledger=ledger, principal=sealed.plan.principal).run()
        return ledger.close()
    finally:
        lock.release()


def _check(
    around: Surroundings,
    sealed: SealedPlan,
    steps: Mapping[str, Step],
    project: Project,
    recheck: Recheck | None,
) -> Latest:
    """Everything that must hold before the first change; what the registry holds."""
    latest = latest_values(around.cluster.registry.read() or ())
    check_envelope(sealed, latest, now=around.clock.now())
    state = look(around.cluster, steps.values())
    check_cluster(sealed.plan, state)
    check_steps(sealed.plan, steps, around.cluster)
    check_plan(sealed.plan, sealed.plan.changes, steps, state, recheck, project=project)
    return latest
