"""Resuming a run that did not finish, or closing it because a new plan supersedes it."""

from collections.abc import Collection, Iterable

from kgitops.apply.checks import Recheck, check_logins, check_plan, check_steps
from kgitops.apply.context import ApplyContext
from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.journal import Journal, RunState, closing_records
from kgitops.apply.journal.reading import (
    Latest,
    known_projects,
    latest_values,
    read_sealed,
    unfinished_runs,
)
from kgitops.apply.lock import LeaseKeeper, Lock, acquire
from kgitops.apply.lock_claims import claimant
from kgitops.apply.progress import (
    Progress,
    owners_of_begun,
    owners_of_completed,
    resolve_open_step,
    steps_to_undo,
)
from kgitops.apply.result import ApplyResult, conclude
from kgitops.apply.run.reading import read_objects, read_to_check
from kgitops.apply.run.runner import Runner
from kgitops.apply.steps import RecordedOutcome, Run, RunStatus, build_steps
from kgitops.cluster.port import RegistryEntry
from kgitops.desired.claims import former_identities
from kgitops.desired.state import Project
from kgitops.model.errors import KgitopsError
from kgitops.model.json.records import Record
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, Plan, PlannedRequest


def resume(
    context: ApplyContext, *, project: Project, holder: str, recheck: Recheck | None = None
) -> ApplyResult | None:
    """Resume the project's unfinished run from the journal alone; None when there is none.

    The plan's expiry and nonce no longer matter: it was begun in time. Changes that have not begun
    must still meet their preconditions, and open requests are resolved by reading the cluster.

    Raises:
        KgitopsError: it can't be resumed, and no change request was sent now.
    """
    unfinished = _unfinished(context, project)
    if unfinished is None:
        return None
    lock = acquire(context, holder=claimant(holder, project, unfinished[0].id))
    if lock is None:
        run, sealed = unfinished
        progress = Progress(steps=build_steps(sealed.plan), records=run.steps)
        return conclude(
            progress, run_id=run.id, begun=True, signal=context.interrupted(), earlier=progress.done
        )
    try:
        unfinished = _unfinished(context, project)
        if unfinished is None:
            return None
        return _continue(context, lock, *unfinished, project, recheck)
    finally:
        lock.release()


def superseding_records(
    context: ApplyContext, latest: Latest, plan: Plan, identities: Collection[str]
) -> list[Record]:
    """Return the records that close these identities' unfinished runs, which ``plan`` supersedes.

    Their open requests are resolved first. Objects that they completed are recorded as owned,
    except those that ``plan`` changes: its preconditions were made without that ownership.
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
        resolved = {
            step.id: outcome for step in open_steps if (outcome := resolve_open_step(step, state))
        }
        done = {step: outcome.record for step, outcome in resolved.items()}
        owners = {
            **owners_of_completed(steps, done, {**run.steps, **done}),
            **owners_of_begun(open_steps, state),
        }
        records += [record for address, record in owners.items() if address not in touched]
        records += closing_records(run, RunStatus.SUPERSEDED)
    return records


def newest_unfinished(latest: Latest, project: Project) -> Run | None:
    """Return the run that a resume of this project continues; None if there is none.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    runs = unfinished_runs(latest, _identities(project, latest))
    return runs[-1] if runs else None


def pending_undo_requests(
    entries: Iterable[RegistryEntry], project: Project
) -> tuple[PlannedRequest, ...]:
    """Return the requests with which the project's unfinished runs would undo what they set.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    undo_requests: list[PlannedRequest] = []
    for run in unfinished_runs(latest, _identities(project, latest)):
        steps = build_steps(read_sealed(run, latest).plan)
        undo_requests += [step.planned for step in steps_to_undo(steps, run.steps) if step.planned]
    return tuple(undo_requests)


def begun_changes(entries: Iterable[RegistryEntry], project: Project) -> tuple[Change, ...]:
    """Return the changes that the project's unfinished runs have begun, the newest run's last.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    changes: list[Change] = []
    for run in unfinished_runs(latest, _identities(project, latest)):
        changes += [
            change
            for change in read_sealed(run, latest).plan.changes
            if any(planned.id in run.steps for planned in change.requests)
        ]
    return tuple(changes)


def unconfirmed_requests(
    entries: Iterable[RegistryEntry], project: Project
) -> tuple[PlannedRequest, ...]:
    """Return what the project's unfinished runs have begun to send, with no success written down.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    return tuple(
        planned
        for run in unfinished_runs(latest, _identities(project, latest))
        for change in read_sealed(run, latest).plan.changes
        for planned in change.requests
        if planned.id in run.steps and run.steps[planned.id].outcome is not RecordedOutcome.DONE
    )


def _identities(project: Project, latest: Latest) -> frozenset[str]:
    return former_identities(project, known_projects(latest)) | {project.identity}


def _unfinished(context: ApplyContext, project: Project) -> tuple[Run, SealedPlan] | None:
    latest = latest_values(context.cluster.registry.read() or ())
    run = newest_unfinished(latest, project)
    return None if run is None else (run, read_sealed(run, latest))


def _continue(
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
    with run_state.finishing():
        runner.resolve()
        state = read_to_check(context.cluster, plan, steps.values())
        progress = run_state.progress
        pending = progress.not_attempted

        def check() -> None:
            check_steps(steps, context.cluster)
            check_plan(
                plan, progress.not_begun, pending, state, recheck, project=project, resumed=True
            )
            check_logins(context, map(steps.__getitem__, pending), plan.principal)

        try:
            LeaseKeeper(context, lock).run(check)
        except KgitopsError as error:
            # The run had begun, so the plan is not refused as a whole: it is partly applied.
            run_state.add_reasons(error.reasons)
            runner.undo_helpers()
        else:
            runner.run()
        return run_state.close()
