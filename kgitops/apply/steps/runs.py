"""A run as the journal records it: its header, its batches, and the outcome of each step."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model.results import RequestResult

REGISTRY_API = "Registry"
"""The ``api`` of a batch that changes the registry only."""


class RunStatus(StrEnum):
    """The status of a run; open and failed runs are unfinished."""

    OPEN = "open"
    FAILED = "failed"
    DONE = "done"
    SUPERSEDED = "superseded"


class RecordedOutcome(StrEnum):
    """The outcome of a step; ``open`` means that only its intent is known."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"


class StepRecord(Struct, frozen=True, kw_only=True):
    """One step in the journal; ``lookup`` is the finding of a lookup on the cluster, if any."""

    outcome: RecordedOutcome
    reply: RequestResult | None = None
    lookup: str | None = None


class Batch(Struct, frozen=True, kw_only=True):
    """One wire batch: an intent while ``results`` is empty."""

    number: int
    api: str
    requests: tuple[str, ...]
    results: Mapping[str, StepRecord] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``intent`` until every step's outcome is known, then ``done`` or ``failed``."""
        outcomes = {self.outcome(step) for step in self.requests}
        if RecordedOutcome.OPEN in outcomes:
            return "intent"
        return "failed" if RecordedOutcome.FAILED in outcomes else "done"

    def outcome(self, step: str) -> RecordedOutcome:
        """Return the recorded outcome of ``step``."""
        known = self.results.get(step)
        return known.outcome if known else RecordedOutcome.OPEN


class RunHeader(Struct, frozen=True, kw_only=True):
    """The record ``run/<id>``."""

    status: RunStatus
    project: str
    plan_digest: str
    nonce: str
    pieces: int
    started: str
    holder: str


class Run(RunHeader, frozen=True, kw_only=True):
    """One apply: its header, and its batches in order."""

    id: str
    batches: tuple[Batch, ...] = ()

    @property
    def unfinished(self) -> bool:
        """True if a resume can continue the run."""
        return self.status in (RunStatus.OPEN, RunStatus.FAILED)

    @property
    def steps(self) -> Mapping[str, StepRecord]:
        """The latest record of every step that was begun."""
        return {
            step: batch.results.get(step, StepRecord(outcome=RecordedOutcome.OPEN))
            for batch in self.batches
            for step in batch.requests
        }

    @property
    def next_number(self) -> int:
        """The number of the next batch."""
        return self.batches[-1].number + 1 if self.batches else 1
