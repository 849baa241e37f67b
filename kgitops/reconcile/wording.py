"""Turns in words, a few lines each, for the terminal and the log."""

import shlex
from collections.abc import Iterator, Mapping

from kgitops.reconcile.status import ClusterChange, PendingPlan, Suspension, TurnOutcome, TurnResult

OUTCOME_WORDS = {
    TurnOutcome.IN_SYNC: "as declared",
    TurnOutcome.APPLIED: "as declared now",
    TurnOutcome.PENDING: "changes wait",
    TurnOutcome.SUSPENDED: "suspended",
    TurnOutcome.BUSY: "somebody else holds the lock",
    TurnOutcome.STOPPED: "stopped",
    TurnOutcome.REFUSED: "refused",
    TurnOutcome.FAILED: "failed",
}
_REVISION = 19


def turn_text(result: TurnResult) -> str:
    """The turn for people: one line, and below it what a person may have to do."""
    where = f"{result.project} on {result.cluster}" if result.cluster else result.project
    mode = f" ({result.mode})" if result.mode else ""
    head = f"{where}{mode}: {OUTCOME_WORDS[result.outcome]}"
    return "\n".join([head, *(f"  {line}" for line in _lines(result))]) + "\n"


def counts_text(counts: Mapping[str, int]) -> str:
    """Counts as words: ``2 create, 1 delete``."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def suspension_text(suspension: Suspension) -> str:
    """Say who suspended it, since when, until when and why."""
    what = "every project" if suspension.project is None else "this project"
    until = f" until {suspension.until}" if suspension.until else ""
    why = f": {suspension.reason}" if suspension.reason else ""
    return f"{suspension.by} suspended {what} at {suspension.since}{until}{why}"


def change_sentence(change: ClusterChange, cluster: str) -> str:
    """Say what changed about the cluster of this name, and how a person confirms it."""
    known, found = change.known, change.found
    now = f"the cluster {found.cluster_id or 'without an id'}"
    registry = (
        f"the registry {found.registry_topic_id}" if found.registry_topic_id else "no registry"
    )
    if known is None:
        what = (
            f"the memory of this loop about {cluster} is damaged, so it is unknown whether "
            f"{now} with {registry} is the one that was reconciled before"
        )
    elif known.cluster_id != found.cluster_id:
        what = f"{cluster} was the cluster {known.cluster_id}, and its address leads to {now}"
    else:
        what = f"{now} at {cluster} had the registry {known.registry_topic_id}, and has {registry}"
    return (
        f"{what}; nothing is applied: find out why, and if it is meant, run "
        f"kgitops reconcile resume -c {cluster}"
    )


def pending_text(pending: PendingPlan) -> str:
    """Say what waits, and how it is applied."""
    counts = counts_text(pending.actions) or "nothing"
    levels = counts_text(pending.levels)
    if not pending.applies:
        return f"waits: {counts} ({levels}); it can't be applied as it is"
    return f"waits: {counts} ({levels}); review it, then {apply_command(pending)}"


def apply_command(pending: PendingPlan) -> str:
    """The command that applies exactly this plan."""
    path = shlex.quote(pending.path) if pending.path else "PLAN"
    return f"kgitops apply {path} --expect-digest {pending.digest}"


def _lines(result: TurnResult) -> Iterator[str]:
    if result.revision:
        yield f"revision {result.revision[:_REVISION]}"
    if result.revision_problem:
        yield f"no newer revision: {result.revision_problem}"
    if result.last_good:
        yield f"compared with the last good revision {result.last_good[:_REVISION]}"
    if result.resumed_run:
        yield f"went on with the unfinished run {result.resumed_run}"
    if result.applied:
        yield f"applied: {counts_text(result.applied_actions)} ({result.applied})"
    yield from result.notes
    if result.healed:
        yield f"undid what others changed: {', '.join(result.healed)}"
    if result.drifting:
        yield f"others changed: {counts_text(result.drifting)}"
    if result.fights:
        yield f"somebody changes again and again, no longer healed: {', '.join(result.fights)}"
    if result.suspension:
        yield suspension_text(result.suspension)
    elif result.suspended:
        yield "the project file suspends it"
    if result.pending:
        yield pending_text(result.pending)
    if result.others_unfinished:
        yield f"unfinished runs of other projects: {', '.join(result.others_unfinished)}"
