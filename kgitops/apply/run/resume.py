"""Going on with a run that did not finish, or closing it because a new plan takes its place."""

from collections.abc import Collection, Iterable

from kgitops.apply.checks import Recheck, check_plan, check_steps
from kgitops.apply.context import ApplyContext
from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.journal import Journal, RunState
from kgitops.apply.journal.reading import (
    Latest,
    known_projects,
    latest_values,
    read_sealed,
    unfinished_runs,
)
from kgitops.apply.journal.records import closing_records
from kgitops.apply.lock.lock import Lock, acquire
from kgitops.apply.result import ApplyResult, conclude
from kgitops.apply.run.reading import read_objects
from kgitops.apply.run.runner import Runner
from kgitops.apply.steps.outcome import owners_of_begun, owners_of_completed, resolve_open_step
from kgitops.apply.steps.progress import Progress, steps_to_undo
from kgitops.apply.steps.runs import RecordedOutcome, Run, RunStatus
from kgitops.apply.steps.steps import build_steps
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import Record
from kgitops.desired.last_applied import former_identities
from kgitops.desired.state import Project
from kgitops.model.errors import KgitopsError
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, Plan, PlannedRequest


def resume(
    context: ApplyContext, *, project: Project, holder: str, recheck: Recheck | None = None
) -> ApplyResult | None:
    """Go on with the project's unfinished run from the journal alone; None when there is none.

    The plan's expiry and nonce no longer matter: it was begun in time. What has not begun must
    still be as the plan saw it, and open requests are resolved by looking.

    Raises:
        KgitopsError: it can't be gone on with, and no change request was sent now.
    """
    found = _unfinished(context, project)
    if found is None:
        return None
    lock = acquire(context, holder=holder)
    if lock is None:
        run, sealed = found
        progress = Progress(steps=build_steps(sealed.plan), known=run.steps)
        return conclude(
            progress, run_id=run.id, begun=True, signal=context.interrupted(), earlier=progress.done
        )
    try:
        found = _unfinished(context, project)
        return None if found is None else _go_on(context, lock, *found, project, recheck)
    finally:
        lock.release()


def superseding_records(
    context: ApplyContext, latest: Latest, plan: Plan, identities: Collection[str]
) -> list[Record]:
    """The records that close unfinished runs of these ``identities``, for ``plan`` in their place.

    Their open requests are looked up first. What they completed is remembered as owned, but where
    ``plan`` itself decides about an object its preconditions were made without that.
    """
    touched = {change.address for change in plan.changes}
    records: list[Record] = []
    for run in unfinished_runs(latest, identities):
        steps = build_steps(read_sealed(run, latest).plan)
        begun = [step for step in steps if step in run.steps]
        open_steps = [
            steps[step] for step in begun if run.steps[step].outcome is RecordedOutcome.OPEN
        ]
        state = read_objects(context.cluster, open_steps)
        found = {
            step.id: outcome for step in open_steps if (outcome := resolve_open_step(step, state))
        }
        done = {step: outcome.record for step, outcome in found.items()}
        owners = {
            **owners_of_completed(steps, done, {**run.steps, **done}),
            **owners_of_begun(open_steps, state),
        }
        records += [record for address, record in owners.items() if address not in touched]
        records += closing_records(run, RunStatus.SUPERSEDED)
    return records


def pending_undo_requests(
    entries: Iterable[RegistryEntry], project: Project
) -> tuple[PlannedRequest, ...]:
    """The requests with which the project's unfinished runs meant to take back what they set.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    found: list[PlannedRequest] = []
    for run in unfinished_runs(latest, _identities(project, latest)):
        steps = build_steps(read_sealed(run, latest).plan)
        found += [step.planned for step in steps_to_undo(steps, run.steps) if step.planned]
    return tuple(found)


def begun_changes(entries: Iterable[RegistryEntry], project: Project) -> tuple[Change, ...]:
    """The changes that the project's unfinished runs have begun, the newest run's last.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    found: list[Change] = []
    for run in unfinished_runs(latest, _identities(project, latest)):
        found += [
            change
            for change in read_sealed(run, latest).plan.changes
            if any(planned.id in run.steps for planned in change.requests)
        ]
    return tuple(found)


def _identities(project: Project, latest: Latest) -> frozenset[str]:
    return former_identities(project, known_projects(latest)) | {project.identity}


def _unfinished(context: ApplyContext, project: Project) -> tuple[Run, SealedPlan] | None:
    latest = latest_values(context.cluster.registry.read() or ())
    runs = unfinished_runs(latest, _identities(project, latest))
    if not runs:
        return None
    run = runs[-1]
    return run, read_sealed(run, latest)


def _go_on(
    context: ApplyContext,
    lock: Lock,
    run: Run,
    sealed: SealedPlan,
    project: Project,
    recheck: Recheck | None,
) -> ApplyResult:
    plan = sealed.plan
    steps = build_steps(plan)
    run_state = RunState(context, Journal(lock, run), steps)
    runner = Runner(context, lock=lock, run_state=run_state, principal=plan.principal)
    context.on_event(
        ApplyStarted(
            run_id=run.id,
            project=plan.desired.project,
            planned=len(steps),
            earlier=len(run_state.progress.done),
            resumed=True,
        )
    )
    runner.resolve()
    state = read_objects(context.cluster, steps.values())
    try:
        check_steps(plan, steps, context.cluster)
        progress = run_state.progress
        pending = progress.not_attempted
        check_plan(plan, progress.not_begun, pending, state, recheck, project=project, resumed=True)
    except KgitopsError as error:
        # The run did begin, so this is no refusal of the whole: it is partly applied.
        run_state.add_reasons(error.reasons)
        runner.undo_helpers()
    else:
        runner.run()
    return run_state.close()
