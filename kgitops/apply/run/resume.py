"""Going on with a run that did not finish, or closing it because a new plan takes its place."""

from collections.abc import Collection, Iterable

from kgitops.apply.checks import Recheck, check_plan, check_steps
from kgitops.apply.context import Surroundings
from kgitops.apply.events import ApplyStarted
from kgitops.apply.journal.journal import Journal, Ledger
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
from kgitops.apply.run.reading import look
from kgitops.apply.run.runner import Runner
from kgitops.apply.steps.outcome import look_up, owners_of_begun, owners_of_completed
from kgitops.apply.steps.progress import Progress, to_take_back
from kgitops.apply.steps.runs import Outcome, Run, RunStatus
from kgitops.apply.steps.steps import build_steps
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import Record
from kgitops.desired.last_applied import former_identities
from kgitops.desired.state import Project
from kgitops.model.errors import KgitopsError
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, Plan, PlannedRequest


def resume(
    around: Surroundings, *, project: Project, holder: str, recheck: Recheck | None = None
) -> ApplyResult | None:
    """Go on with the project's unfinished run from the journal alone; None when there is none.

    The plan's expiry and nonce no longer matter: it was begun in time. What has not begun must
    still be as the plan saw it, and open requests are resolved by looking.

    Raises:
        KgitopsError: it can't be gone on with, and no change request was sent now.
    """
    found = _unfinished(around, project)
    if found is None:
        return None
    lock = acquire(around, holder=holder)
    if lock is None:
        run, sealed = found
        progress = Progress(steps=build_steps(sealed.plan), known=run.steps)
        return conclude(
            progress, run_id=run.id, begun=True, signal=around.interrupted(), earlier=progress.done
        )
    try:
        found = _unfinished(around, project)
        return None if found is None else _go_on(around, lock, *found, project, recheck)
    finally:
        lock.release()


def superseding_records(
    around: Surroundings, latest: Latest, plan: Plan, identities: Collection[str]
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
        open_steps = [steps[step] for step in begun if run.steps[step].outcome is Outcome.OPEN]
        state = look(around.cluster, open_steps)
        found = {step.id: known for step in open_steps if (known := look_up(step, state))}
        done = {step: known.known for step, known in found.items()}
        owners = {
            **owners_of_completed(steps, done, {**run.steps, **done}),
            **owners_of_begun(open_steps, state),
        }
        records += [record for address, record in owners.items() if address not in touched]
        records += closing_records(run, RunStatus.SUPERSEDED)
    return records


def still_to_undo(entries: Iterable[RegistryEntry], project: Project) -> tuple[PlannedRequest, ...]:
    """The requests with which the project's unfinished runs meant to take back what they set.

    Raises:
        SafetyError: the journal of one can't be read.
    """
    latest = latest_values(entries)
    found: list[PlannedRequest] = []
    for run in unfinished_runs(latest, _identities(project, latest)):
        steps = build_steps(read_sealed(run, latest).plan)
        found += [step.planned for step in to_take_back(steps, run.steps) if step.planned]
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


def _unfinished(around: Surroundings, project: Project) -> tuple[Run, SealedPlan] | None:
    latest = latest_values(around.cluster.registry.read() or ())
    runs = unfinished_runs(latest, _identities(project, latest))
    if not runs:
        return None
    run = runs[-1]
    return run, read_sealed(run, latest)


def _go_on(
    around: Surroundings,
    lock: Lock,
    run: Run,
    sealed: SealedPlan,
    project: Project,
    recheck: Recheck | None,
) -> ApplyResult:
    plan = sealed.plan
    steps = build_steps(plan)
    ledger = Ledger(around, Journal(lock, run), steps)
    runner = Runner(around, lock=lock, ledger=ledger, principal=plan.principal)
    around.on_event(
        ApplyStarted(
            run_id=run.id,
            project=plan.desired.project,
            planned=len(steps),
            earlier=len(ledger.progress.done),
            resumed=True,
        )
    )
    runner.resolve()
    state = look(around.cluster, steps.values())
    try:
        check_steps(plan, steps, around.cluster)
        progress = ledger.progress
        pending = progress.not_attempted
        check_plan(plan, progress.not_begun, pending, state, recheck, project=project, resumed=True)
    except KgitopsError as error:
        # The run did begin, so this is no refusal of the whole: it is partly applied.
        ledger.refuse(error.reasons)
        runner.take_back()
    else:
        runner.run()
    return ledger.close()
