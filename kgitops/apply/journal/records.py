"""Writing runs as records of the registry; reading.py reads them back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kgitops.apply.steps.runs import Batch, Run, RunStatus
from kgitops.cluster.registry import Record, project_record
from kgitops.model import clock as moments
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import SCHEMA_VERSION, Json
from kgitops.plan.document.file import SealedPlan, sealed_to_json

RUN_PREFIX = "run/"
NONCE_PREFIX = "nonce/"

# A piece must stay within 512 KiB as JSON text, where a quote counts twice and a character may
# take four bytes.
_PIECE = 120 * 1024
_NONCE_KEPT = timedelta(days=30)


def open_run(
    sealed: SealedPlan,
    *,
    run_id: str,
    holder: str,
    started: datetime,
    formerly: Sequence[str] = (),
) -> tuple[Run, list[Record]]:
    """Return the run of a sealed plan, and the records to write before its first request.

    The records are the project, the header, the plan in pieces, and the spent nonce.
    """
    content = canonical_json(sealed_to_json(sealed)).decode()
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
    expires = moments.to_text(sealed.expires)
    plan_records: list[Record] = [
        (f"{RUN_PREFIX}{run_id}/plan/{number}", {"schema_version": SCHEMA_VERSION, "text": piece})
        for number, piece in enumerate(pieces)
    ]
    return run, [
        project_record(run.project, sealed.plan.desired.project, formerly),
        header_record(run),
        *plan_records,
        (
            f"{NONCE_PREFIX}{run.nonce}",
            {"schema_version": SCHEMA_VERSION, "run": run_id, "expires": expires},
        ),
    ]


def header_record(run: Run) -> Record:
    """Return the record ``run/<id>``."""
    return f"{RUN_PREFIX}{run.id}", {
        "schema_version": SCHEMA_VERSION,
        "status": run.status.value,
        "project": run.project,
        "plan_digest": run.plan_digest,
        "nonce": run.nonce,
        "pieces": run.pieces,
        "started": run.started,
        "holder": run.holder,
    }


def batch_record(run: Run, batch: Batch) -> Record:
    """Return the record ``run/<id>/<n>``."""
    return f"{RUN_PREFIX}{run.id}/{batch.number}", {
        "schema_version": SCHEMA_VERSION,
        "status": batch.status,
        "api": batch.api,
        "requests": list(batch.requests),
        "results": {
            step: {
                "outcome": known.outcome.value,
                "code": None if known.reply is None else int(known.reply.code),
                "message": known.reply.message if known.reply else None,
                "topic_id": known.reply.topic_id if known.reply else None,
            }
            for step, known in sorted(batch.results.items())
        },
        "lookups": {
            step: known.lookup for step, known in sorted(batch.results.items()) if known.lookup
        },
    }


def closing_records(run: Run, status: RunStatus) -> list[Record]:
    """Return the records that close a run: only its header is kept, without plan and batches."""
    closed = replace(run, status=status, pieces=0)
    return [
        header_record(closed),
        *((f"{RUN_PREFIX}{run.id}/plan/{piece}", None) for piece in range(run.pieces)),
        *((f"{RUN_PREFIX}{run.id}/{batch.number}", None) for batch in run.batches),
    ]


def old_nonces(latest: Mapping[str, Mapping[str, Json]], now: datetime) -> list[Record]:
    """Return deletions of the nonces of plans that expired long ago and are refused for that."""
    before = moments.to_text(now - _NONCE_KEPT)
    return [
        (key, None)
        for key, value in latest.items()
        if key.startswith(NONCE_PREFIX) and value.get("expires", before) < before
    ]
