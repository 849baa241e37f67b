"""The events between two turns: what changed that somebody may want to know."""

from collections.abc import Iterator, Mapping

from kgitops.model.verdict import ExitCode
from kgitops.reconcile.events import EventKind, ReconcileEvent
from kgitops.reconcile.status import TurnOutcome, TurnResult
from kgitops.reconcile.wording import apply_command

_NAMED = 10
_FAILING = (TurnOutcome.FAILED, TurnOutcome.REFUSED)
_SILENT = (TurnOutcome.BUSY, TurnOutcome.STOPPED)
"""Outcomes that say nothing about the state: the next turn does."""


def events_between(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    """Yield an event for each change of state from one turn to the next.

    ``before`` is the last turn that said something about the state, None at first.
    """
    if after.applied is not None and after.healed:
        yield _event(after, EventKind.HEALED, _healed(after), addresses=after.healed)
    if after.applied is not None and sum(after.applied_actions.values()) > len(after.healed):
        yield _applied(after)
    if after.outcome in _SILENT:
        return
    yield from _source(before, after)
    yield from _suspensions(before, after)
    yield from _failures(before, after)
    yield from _fights(before, after)
    yield from _drift(before, after)
    yield from _pending(before, after)
    if _is_synced(after) and (before is None or not _same_sync(before, after)):
        revision = f" at {after.revision[:12]}" if after.revision else ""
        yield _event(after, EventKind.SYNCED, f"{_where(after)} is as declared{revision}")


def says_something(result: TurnResult) -> bool:
    """Return True if the result is one that the next is compared with."""
    return result.outcome not in _SILENT


def _is_synced(result: TurnResult) -> bool:
    return result.outcome in (TurnOutcome.IN_SYNC, TurnOutcome.APPLIED)


def _same_sync(before: TurnResult, after: TurnResult) -> bool:
    return _is_synced(before) and before.revision == after.revision and not after.applied


def _source(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    was = before.revision_problem if before else None
    now = after.revision_problem
    if now is not None and now != was:
        sentence = f"{_where(after)}: no newer revision, so the last good one holds: {now}"
        yield _event(after, EventKind.SOURCE_FAILED, sentence)
    elif was is not None and now is None and after.revision is not None:
        sentence = f"{_where(after)}: newer revisions are found again"
        yield _event(after, EventKind.SOURCE_RECOVERED, sentence)


def _suspensions(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    was = before is not None and before.suspended
    if after.suspended and (not was or (before and before.suspension != after.suspension)):
        found = after.suspension
        by = f" by {found.by}" if found else " in the project file"
        why = f": {found.reason}" if found and found.reason else ""
        until = f", until {found.until}" if found and found.until else ""
        yield _event(after, EventKind.SUSPENDED, f"{_where(after)} is suspended{by}{until}{why}")
    elif was and not after.suspended and after.outcome not in _FAILING:
        yield _event(after, EventKind.RESUMED, f"{_where(after)} is reconciled again")


def _failures(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    failed = before is not None and before.outcome in _FAILING
    if after.outcome in _FAILING:
        same = failed and before is not None and before.reasons == after.reasons
        if not same or (before and before.revision != after.revision):
            first = after.reasons[0].sentence if after.reasons else "the turn failed"
            more = f" (and {len(after.reasons) - 1} more)" if len(after.reasons) > 1 else ""
            yield _event(
                after, EventKind.FAILED, f"{_where(after)}: {first}{more}", exit_=after.exit
            )
    elif failed:
        yield _event(after, EventKind.RECOVERED, f"{_where(after)} is well again")


def _fights(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    known = set(before.fights) if before else set()
    new = tuple(address for address in after.fights if address not in known)
    if new:
        yield _event(
            after,
            EventKind.FIGHT,
            f"{_where(after)}: somebody changes {_names(new)} again and again, so it is no longer "
            "healed; find out who, or declare what they want",
            addresses=new,
        )


def _drift(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    if after.drifting and (before is None or before.drifting != after.drifting):
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(after.drifting.items()))
        yield _event(
            after,
            EventKind.DRIFTED,
            f"{_where(after)}: others changed what was applied ({counts}), and it is left so",
        )


def _pending(before: TurnResult | None, after: TurnResult) -> Iterator[ReconcileEvent]:
    pending = after.pending
    if pending is None or after.outcome is TurnOutcome.SUSPENDED:
        return
    if before and before.pending and before.pending.digest == pending.digest:
        return
    if not pending.applies:
        return  # it can't be applied as it is, which the failure says
    yield ReconcileEvent(
        kind=EventKind.PENDING,
        at=after.ended,
        project=after.project,
        cluster=after.cluster,
        revision=after.revision,
        sentence=f"{_where(after)}: {_counts(pending.actions)} wait; review the plan, then "
        f"{apply_command(pending)}",
        exit=pending.exit,
        plan_digest=pending.digest,
        plan_path=pending.path,
        actions=pending.actions,
        levels=pending.levels,
    )


def _applied(after: TurnResult) -> ReconcileEvent:
    return ReconcileEvent(
        kind=EventKind.APPLIED,
        at=after.ended,
        project=after.project,
        cluster=after.cluster,
        revision=after.revision,
        sentence=f"{_where(after)}: applied {_counts(after.applied_actions)}",
        plan_digest=after.applied,
        actions=after.applied_actions,
        levels=after.applied_levels,
    )


def _healed(after: TurnResult) -> str:
    return f"{_where(after)}: undid what others changed of {_names(after.healed)}"


def _event(
    after: TurnResult,
    kind: EventKind,
    sentence: str,
    *,
    exit_: ExitCode = ExitCode.SUCCESS,
    addresses: tuple[str, ...] = (),
) -> ReconcileEvent:
    pending = after.pending
    return ReconcileEvent(
        kind=kind,
        at=after.ended,
        project=after.project,
        cluster=after.cluster,
        sentence=sentence,
        revision=after.revision,
        exit=exit_,
        plan_digest=pending.digest if pending and kind is EventKind.FAILED else None,
        addresses=addresses[:_NAMED],
    )


def _where(result: TurnResult) -> str:
    return f"{result.project} on {result.cluster}"


def _names(addresses: tuple[str, ...]) -> str:
    named = ", ".join(addresses[:_NAMED])
    more = len(addresses) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _counts(actions: Mapping[str, int]) -> str:
    items = sorted(actions.items())
    return ", ".join(f"{count} to {action}" for action, count in items) or "no change"
