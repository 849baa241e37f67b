"""Writing runs as records of the registry; reading.py reads them back."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct, convert
from msgspec.structs import replace

from kgitops.apply.steps.runs import Batch, RecordedOutcome, Run, RunHeader, RunStatus, StepRecord
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
from kgitops.model.json.records import Record, record
from kgitops.model.registry import Json, RegistryState, TakeoverRecord
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
    known = plan.base.registry_offset
    return [
        (entry.key, None)
        for entry in entries
        if known is not None
        and entry.offset <= known
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
