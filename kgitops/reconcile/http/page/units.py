"""The units of the page: each project on each cluster, its state and its last turns."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from kgitops.model import clock
from kgitops.model.wording import counted
from kgitops.reconcile.loop_status import UnitStatus
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.wording import OUTCOME_WORDS, counts_text

_REVISION = 19
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


class Tone(StrEnum):
    """The colour of a state, from the one that needs somebody most; words always say the same."""

    BAD = "bad"
    WAITS = "waits"
    QUIET = "quiet"
    GOOD = "good"


_TONES = {
    TurnOutcome.FAILED: Tone.BAD,
    TurnOutcome.REFUSED: Tone.BAD,
    TurnOutcome.PENDING: Tone.WAITS,
    TurnOutcome.SUSPENDED: Tone.QUIET,
    TurnOutcome.BUSY: Tone.QUIET,
    TurnOutcome.STOPPED: Tone.QUIET,
    TurnOutcome.APPLIED: Tone.GOOD,
    TurnOutcome.IN_SYNC: Tone.GOOD,
}


class Moment(Struct, frozen=True, kw_only=True):
    """A moment as RFC 3339, and in words how far it is from now."""

    text: str
    words: str


class TurnRow(Struct, frozen=True, kw_only=True):
    """One turn in the table of a unit."""

    number: int
    ended: Moment
    seconds: str
    outcome: str
    tone: Tone
    exit: int
    revision: str
    applied: str
    left: str
    drift: str
    reasons: tuple[str, ...]


class UnitStateRow(Struct, frozen=True, kw_only=True):
    """One project on one cluster."""

    project: str
    cluster: str
    mode: str
    state: str
    tone: Tone
    running: bool
    reasons: tuple[str, ...]
    drift: str
    fights: tuple[str, ...]
    disabled: int
    pending: str
    revision: str
    branch: str
    signed_by: str
    revision_problem: str
    source_failures: int
    last_success: Moment | None
    next_turn: Moment | None
    turns: tuple[TurnRow, ...]

    @property
    def open(self) -> bool:
        """True if its turns are worth a look at once."""
        return self.tone is Tone.BAD


def unit_row(unit: UnitStatus, now: datetime) -> UnitStateRow:
    """The row of a unit at a moment."""
    last = unit.turns[0] if unit.turns else None
    seen, revision = unit.seen, unit.revision
    tone = Tone.QUIET if last is None else _TONES[last.outcome]
    drifting = counts_text(seen.drifting) if seen else ""
    state = "no turn yet" if last is None else OUTCOME_WORDS[last.outcome]
    if tone is Tone.GOOD and (drifting or (seen and seen.fights)):
        tone, state = Tone.WAITS, "drifted"
    return UnitStateRow(
        project=unit.project,
        cluster=unit.cluster,
        mode=unit.mode,
        state=state,
        tone=tone,
        running=unit.running,
        reasons=_sentences(last) if last else (),
        drift=drifting,
        fights=seen.fights if seen else (),
        disabled=seen.disabled if seen else 0,
        pending=counts_text(unit.pending.actions) if unit.pending else "",
        revision=_revision(revision.name if revision else last.revision if last else None),
        branch=revision.branch if revision else "",
        signed_by=(revision.signed_by or "") if revision else "",
        revision_problem=(revision.problem or "") if revision else "",
        source_failures=unit.source_failures,
        last_success=moment(unit.last_success, now) if unit.last_success else None,
        next_turn=moment(unit.next_turn, now) if unit.next_turn else None,
        turns=tuple(_turn_row(turn, now) for turn in unit.turns),
    )


def by_need(rows: list[UnitStateRow]) -> tuple[UnitStateRow, ...]:
    """The rows with those first that need somebody most, then by their names."""
    order = list(Tone)
    return tuple(sorted(rows, key=lambda row: (order.index(row.tone), row.cluster, row.project)))


def _turn_row(turn: TurnResult, now: datetime) -> TurnRow:
    return TurnRow(
        number=turn.number,
        ended=moment(turn.ended, now),
        seconds=f"{turn.seconds:.1f} s",
        outcome=OUTCOME_WORDS[turn.outcome],
        tone=_TONES[turn.outcome],
        exit=int(turn.exit),
        revision=_revision(turn.revision),
        applied=counts_text(turn.applied_actions) if turn.applied else "",
        left=counts_text(turn.actions),
        drift=counts_text(turn.drift),
        reasons=_sentences(turn),
    )


def _sentences(turn: TurnResult) -> tuple[str, ...]:
    return tuple(reason.sentence for reason in turn.reasons)


def _revision(name: str | None) -> str:
    """The beginning of a revision's name, which is enough to tell it from others."""
    return (name or "")[:_REVISION]


def moment(text: str, now: datetime) -> Moment:
    """Describe a moment of a status; one that can't be read stays as it is."""
    try:
        seconds = (now - clock.from_text(text)).total_seconds()
    except ValueError:
        return Moment(text=text, words="")
    if abs(seconds) < 1:
        return Moment(text=text, words="now")
    words = duration(abs(seconds))
    return Moment(text=text, words=f"{words} ago" if seconds > 0 else f"in {words}")


def duration(seconds: float) -> str:
    """A duration in its largest unit, or in seconds."""
    for size, noun in _UNITS:
        if seconds >= 2 * size or (size == _UNITS[-1][0] and seconds >= size):
            return counted(int(seconds // size), noun)
    return f"{seconds:.0f} s" if seconds >= 1 or seconds == 0 else f"{seconds:.1f} s"
