"""The state of a run, and its journal: an intent before every wire batch, an outcome after it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec import Struct, convert
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import ApplyFinished, StepDone, StepFailed, StepStarted
from kgitops.apply.lock import Lock
from kgitops.apply.progress import (
    Progress,
    StepOutcome,
    owner_of,
    owners_of_completed,
    step_unknown,
)
from kgitops.apply.result import ApplyResult, conclude
from kgitops.apply.steps import Batch, RecordedOutcome, Run, RunHeader, RunStatus, Step, StepRecord
from kgitops.cluster.port import RegistryEntry
from kgitops.cluster.registry import TAKEOVER_PREFIX, project_record, release_record
from kgitops.desired.claims import (
    ClaimKind,
    former_identities,
    gained_claims,
    identities_to_remember,
)
from kgitops.desired.state import Project
from kgitops.model import clock as moments
from kgitops.model.errors import KgitopsError, LockedError
from kgitops.model.json.records import Record, record
from kgitops.model.registry import Json, RegistryState, TakeoverRecord
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.model.wording import resume_command
from kgitops.plan.document.file import SealedPlan, canonical_text
from kgitops.plan.document.plan import Plan

RUN_PREFIX = "run/"
NONCE_PREFIX = "nonce/"
DROPPED_KEY = "nonce"

# A piece must stay within 512 KiB as JSON text, where a quote counts twice and a character may
# take four bytes.
_PIECE = 120 * 1024
_NONCE_KEPT = timedelta(days=30)


class PlanPiece(Struct, frozen=True, kw_only=True):
    """A record ``run/<id>/plan/<k>``."""

    text: str


class StepDocument(Struct, frozen=True, kw_only=True):
    """A step in a batch; the last three are the reply, and null without one."""

    outcome: RecordedOutcome
    code: int | None
    message: str | None
    topic_id: str | None


class BatchDocument(Struct, frozen=True, kw_only=True):
    """A record ``run/<id>/<n>``; ``lookups`` has the steps that were looked up."""

    status: str
    api: str
    requests: tuple[str, ...]
    results: Mapping[str, StepDocument]
    lookups: Mapping[str, str | None]


class SpentNonce(Struct, frozen=True, kw_only=True):
    """A record ``nonce/<nonce>``."""

    run: str
    expires: str


class DroppedNonces(Struct, frozen=True, kw_only=True):
    """The record ``nonce``: nonces were dropped of plans that expire until ``expires``."""

    expires: str


def open_run(
    sealed: SealedPlan,
    *,
    run_id: str,
    holder: str,
    started: datetime,
    project: Project,
    registry: RegistryState | None = None,
) -> tuple[Run, list[Record]]:
    """Return the run of a sealed plan, and the records to write before its first request.

    The records are the project, what it takes over, the header, the plan in pieces, and the spent
    nonce.
    """
    content = canonical_text(sealed)
    pieces = [content[start : start + _PIECE] for start in range(0, len(content), _PIECE)]
    run = Run(
        id=run_id,
        status=RunStatus.OPEN,
        project=sealed.plan.desired.identity,
        plan_digest=sealed.plan_digest,
        nonce=sealed.nonce,
        pieces=len(pieces),
        started=moments.to_text(started),
        holder=holder,
    )
    return run, [
        *_project_records(run, sealed, project, registry),
        header_record(run),
        *(
            record(f"{RUN_PREFIX}{run_id}/plan/{number}", PlanPiece(text=piece))
            for number, piece in enumerate(pieces)
        ),
        nonce_record(run.nonce, run_id, moments.to_text(sealed.expires)),
    ]


def _project_records(
    run: Run, sealed: SealedPlan, project: Project, registry: RegistryState | None
) -> Iterator[Record]:
    """Yield the project's record, and those that change because it takes over others.

    A project that was taken over whole has no former identities and no release any more: they are
    this project's. Nor can one that gives up objects still hold this project for its former self.
    """
    plan = sealed.plan
    whole = {it.identity for it in plan.takeovers if it.kind is ClaimKind.FORMERLY}
    formerly = identities_to_remember(project, registry, whole)
    yield project_record(run.project, plan.desired.project, formerly)
    if registry is None:
        return
    gained = {claim.identity for claim in gained_claims(project, registry, whole)}
    for identity in sorted(gained | {it.identity for it in plan.takeovers}):
        before = registry.formerly.get(identity, ())
        kept = [] if identity in gained else [it for it in before if it not in _names(project)]
        if before and identity in registry.projects:
            yield project_record(identity, registry.projects[identity], kept)
        if identity in gained and identity in registry.releases:
            yield release_record(identity, None)
    yield from _takeover_records(run, plan, project)


def _names(project: Project) -> tuple[str, str]:
    return project.identity, project.name


def _takeover_records(run: Run, plan: Plan, project: Project) -> Iterator[Record]:
    """Yield what the projects that lose objects are told, in records that are small enough."""
    number = 0
    for takeover in plan.takeovers:
        taken = [
            change.address
            for change in plan.changes
            if change.owner_before and change.owner_before.project in takeover.identities
        ]
        for part in _parts(taken):
            document = TakeoverRecord(
                project=takeover.identity,
                by=project.identity,
                name=project.name,
                run=run.id,
                at=run.started,
                holder=run.holder,
                objects=tuple(part),
            )
            yield record(f"{TAKEOVER_PREFIX}{run.id}/{number}", document)
            number += 1


def _parts(addresses: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for address in addresses:
        if part and size + len(address) > _PIECE:
            yield part
            part, size = [], 0
        part.append(address)
        size += len(address)
    if part:
        yield part


def read_notices(
    entries: Iterable[RegistryEntry], plan: Plan, project: Project, registry: RegistryState
) -> list[Record]:
    """Return deletions of the takeovers that ``plan`` warned this project of.

    These are the ones that the registry had when the plan was made.
    """
    mine = {project.identity, *former_identities(project, registry)}
    known = int(plan.base.registry.offset) if plan.base.registry else -1
    return [
        (entry.key, None)
        for entry in entries
        if entry.offset <= known
        and entry.key.startswith(TAKEOVER_PREFIX)
        and (taken := registry.takeovers.get(entry.key.removeprefix(TAKEOVER_PREFIX)))
        and taken.project in mine
        and taken.by not in mine
    ]


def nonce_record(nonce: str, run: str, expires: str) -> Record:
    """Return the record of a plan that ``run`` applied, so that no other run does."""
    return record(f"{NONCE_PREFIX}{nonce}", SpentNonce(run=run, expires=expires))


def header_record(run: Run) -> Record:
    """Return the record ``run/<id>``."""
    return record(f"{RUN_PREFIX}{run.id}", convert(run, RunHeader, from_attributes=True))


def batch_record(run: Run, batch: Batch) -> Record:
    """Return the record ``run/<id>/<n>``."""
    results = dict(sorted(batch.results.items()))
    document = BatchDocument(
        status=batch.status,
        api=batch.api,
        requests=batch.requests,
        results={step: _step_document(known) for step, known in results.items()},
        lookups={step: known.lookup for step, known in results.items() if known.lookup},
    )
    return record(f"{RUN_PREFIX}{run.id}/{batch.number}", document)


def _step_document(known: StepRecord) -> StepDocument:
    reply = known.reply
    return StepDocument(
        outcome=known.outcome,
        code=reply.code if reply else None,
        message=reply.message if reply else None,
        topic_id=reply.topic_id if reply else None,
    )


def closing_records(run: Run, status: RunStatus) -> list[Record]:
    """Return the records that close a run: only its header is kept, without plan and batches."""
    closed = replace(run, status=status, pieces=0)
    return [
        header_record(closed),
        *((f"{RUN_PREFIX}{run.id}/plan/{piece}", None) for piece in range(run.pieces)),
        *((f"{RUN_PREFIX}{run.id}/{batch.number}", None) for batch in run.batches),
    ]


def dropped_record(expires: str) -> Record:
    """Return the record that refuses every plan that expires at this time or before."""
    return record(DROPPED_KEY, DroppedNonces(expires=expires))


def old_nonces(latest: Mapping[str, Mapping[str, Json]], now: datetime) -> list[Record]:
    """Return the deletions of nonces of plans that expired long ago.

    No clock can be trusted for that, so the same write refuses all plans that expire no later than
    those: a plan without a nonce was never applied, or is refused.
    """
    before = moments.to_text(now - _NONCE_KEPT)
    old = {
        key: expires
        for key, value in latest.items()
        if key.startswith(NONCE_PREFIX)
        and isinstance(expires := value.get("expires"), str)
        and expires < before
    }
    if not old:
        return []
    dropped = latest.get(DROPPED_KEY, {}).get("expires", "")
    return [*((key, None) for key in old), dropped_record(max(dropped, *old.values()))]


class Journal:
    """The journal of one run; its first records are written together with the first intent."""

    def __init__(self, lock: Lock, run: Run, opening: Sequence[Record] = ()) -> None:
        self._lock = lock
        self._run = run
        self._opening = tuple(opening)

    @property
    def run(self) -> Run:
        """The run as written in the journal."""
        return self._run

    def intend(self, batches: Sequence[Sequence[Step]]) -> None:
        """Write that these batches are about to be sent.

        Raises:
            LockedError: the lock is lost, so nothing may be sent.
        """
        self._write([self._new_batch(steps) for steps in batches], ())

    def record_outcomes(
        self, step_records: Mapping[str, StepRecord], owners: Sequence[Record]
    ) -> None:
        """Write outcomes of steps, and the owners of completed objects, in one append.

        A step that was never begun has no batch, so nothing is written about it.
        """
        changed = []
        for batch in self._latest_batches(step_records):
            news = {step: step_records[step] for step in batch.requests if step in step_records}
            changed.append(replace(batch, results={**batch.results, **news}))
        if changed:
            self._write(changed, owners)

    def record_registry_changes(self, steps: Sequence[Step], owners: Sequence[Record]) -> None:
        """Write changes that only the registry records; the write is the change."""
        done = {step.id: StepRecord(outcome=RecordedOutcome.DONE) for step in steps}
        self._write([replace(self._new_batch(steps), results=done)], owners)

    def close(self, status: RunStatus) -> None:
        """Write the end of the run and release the lock in one append."""
        if self._opening:
            self._lock.close([])
        elif status is RunStatus.DONE:
            self._lock.close(closing_records(self._run, status))
        else:
            self._lock.close([header_record(replace(self._run, status=status))])

    def _new_batch(self, steps: Sequence[Step]) -> Batch:
        batch = Batch(
            number=self._run.next_number,
            api=steps[0].api,
            requests=tuple(step.id for step in steps),
        )
        self._run = replace(self._run, batches=(*self._run.batches, batch))
        return batch

    def _latest_batches(self, step_records: Mapping[str, StepRecord]) -> Sequence[Batch]:
        latest = {step: batch for batch in self._run.batches for step in batch.requests}
        return list(
            {latest[step].number: latest[step] for step in step_records if step in latest}.values()
        )

    def _write(self, batches: Sequence[Batch], owners: Sequence[Record]) -> None:
        records = [batch_record(self._run, batch) for batch in batches]
        self._lock.append([*self._opening, *records, *owners])
        self._opening = ()
        written = {batch.number: batch for batch in batches}
        self._run = replace(
            self._run,
            batches=tuple(written.get(batch.number, batch) for batch in self._run.batches),
        )


class RunState:
    """Keeps a run's progress, in memory and in the journal.

    ``progress`` is what is known so far. ``begun`` tells that something was sent, or may have been
    by an earlier process, so that the run can no longer be refused as a whole. ``stopped`` tells
    that it can't continue.
    """

    def __init__(self, context: ApplyContext, journal: Journal, steps: Mapping[str, Step]) -> None:
        self._context = context
        self._journal = journal
        self._reasons: list[Reason] = []
        self.progress = Progress(steps=steps, records=journal.run.steps)
        self.begun = bool(self.progress.records)
        self.stopped = False
        self._lock_is_lost = False
        self._intended = False
        self._earlier = self.progress.done

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Report the end of the run also where the ``with`` block ends in an error."""
        try:
            yield
        except KgitopsError as error:
            self._finish(decide([*error.reasons, *self._left_open(error)], changes=False))
            raise
        except Exception as error:
            self._finish(self._broken(error))
            raise

    def intend(self, batches: Sequence[Sequence[Step]]) -> None:
        """Write that these batches are about to be sent, and emit the events.

        Raises:
            KgitopsError: it can't be written, or the lock is lost, so nothing may be sent.
        """
        self._intended = True
        self._journal.intend(batches)
        for step in (step for batch in batches for step in batch):
            event = StepStarted(step=step.id, address=step.address, api=step.api)
            self._context.on_event(event)

    def record_outcomes(self, outcomes: Mapping[str, StepOutcome]) -> None:
        """Write outcomes, and the owners of the objects that they complete, in one append."""
        if not outcomes:
            return
        steps = self.progress.steps
        records = {step: outcome.record for step, outcome in outcomes.items()}
        try:
            owners = owners_of_completed(steps, records, {**self.progress.records, **records})
            self._journal.record_outcomes(records, list(owners.values()))
        except KgitopsError as error:
            self.stop(error)
            problem = "its outcome could not be written to the journal"
            outcomes = {step: step_unknown(steps[step], problem, of_run=True) for step in outcomes}
        self.report(outcomes)

    def record_registry_changes(self, steps: Sequence[Step]) -> None:
        """Write changes that only the registry records; they are then done."""
        try:
            self._journal.record_registry_changes(steps, [owner_of(step.change) for step in steps])
        except KgitopsError as error:
            self.stop(error)
            return
        self.begun = True
        self.report(
            {
                step.id: StepOutcome(record=StepRecord(outcome=RecordedOutcome.DONE))
                for step in steps
            }
        )

    def report(self, outcomes: Mapping[str, StepOutcome]) -> None:
        """Add outcomes to the progress and emit their events, without writing the journal."""
        self.progress = self.progress.with_outcomes(outcomes)
        for step_id, outcome in outcomes.items():
            step = self.progress.steps[step_id]
            self._context.on_event(
                StepDone(step=step.id, address=step.address, api=step.api)
                if outcome.done
                else StepFailed(
                    step=step.id, address=step.address, api=step.api, sentence=outcome.sentence
                )
            )

    def reopen_undone(self) -> None:
        """Reopen steps that an earlier process undid too early, so that they are done again."""
        self.progress = self.progress.for_resume()
        self._earlier = tuple(step for step in self._earlier if step in self.progress.records)

    def stop(self, error: KgitopsError) -> None:
        """Stop the run; where nothing was sent the error is raised with its own exit code.

        Once the lock is lost, later errors are consequences of that and are not added.
        """
        if not self.begun:
            raise error
        self.stopped = True
        if not self._lock_is_lost:
            self.add_reasons(error.reasons)
        self._lock_is_lost = self._lock_is_lost or isinstance(error, LockedError)

    def add_reasons(self, reasons: Sequence[Reason]) -> None:
        """Add reasons for which the run does not continue."""
        self._reasons.extend(reason for reason in reasons if reason not in self._reasons)

    def close(self) -> ApplyResult:
        """Close the journal, release the lock, and return the outcome of every step."""
        complete = len(self.progress.done) == len(self.progress.steps)
        failed = self.progress.failures or self._reasons
        status = RunStatus.FAILED if failed else RunStatus.OPEN
        try:
            if not self._lock_is_lost:
                self._journal.close(RunStatus.DONE if complete else status)
        except LockedError as error:
            done = (
                "every step is done, but the lock was lost before the journal was closed; "
                f"`{resume_command()}` closes it"
            )
            finished = (Reason(exit=ExitCode.PARTIAL, sentence=done),)
            self._reasons.extend(finished if complete else error.reasons)
        except KgitopsError as error:
            sentence = f"the journal could not be closed: {error}; `{resume_command()}` does it"
            self._reasons.append(Reason(exit=ExitCode.PARTIAL, sentence=sentence))
        result = conclude(
            self.progress,
            run_id=self._journal.run.id,
            begun=self.begun,
            signal=self._context.interrupted(),
            earlier=self._earlier,
            reasons=self._reasons,
        )
        self._finish(result.verdict)
        return result

    def _finish(self, verdict: Verdict) -> None:
        progress = self.progress
        self._context.on_event(
            ApplyFinished(
                run_id=self._journal.run.id,
                done=len(progress.done),
                failed=len(progress.failed),
                not_attempted=len(progress.not_attempted),
                verdict=verdict,
            )
        )

    def _left_open(self, error: KgitopsError) -> Sequence[Reason]:
        """Say how to continue a run that is in the journal, after an error before any request."""
        unfinished = self.begun or self._intended
        if not unfinished or isinstance(error, LockedError):  # whose sentence has the command
            return ()
        sentence = f"nothing was sent; `{resume_command()}` continues the run"
        return (Reason(exit=error.exit, sentence=sentence),)

    def _broken(self, error: Exception) -> Verdict:
        """Return PARTIAL, the only exit code that is true after kgitops failed in the middle."""
        failed = f"kgitops failed where it should not ({type(error).__name__}: {error})"
        if self.begun or self._intended:
            sentence = (
                f"the plan was partly applied, then {failed}; `{resume_command()}` looks before it "
                "sends anything again"
            )
            reason = Reason(exit=ExitCode.PARTIAL, sentence=sentence)
        else:
            sentence = f"{failed}; nothing was sent, so plan again, and report this"
            reason = Reason(exit=ExitCode.ERROR, sentence=sentence)
        return decide([reason], changes=False)
