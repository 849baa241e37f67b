"""Unfinished runs in the journal: those of the own project, and those of others."""

from collections.abc import Sequence

from msgspec import Struct

from kgitops.apply.journal.reading import Latest, known_projects, read_sealed, unfinished_runs
from kgitops.apply.lock_claims import Claim, live_claim, locked_error
from kgitops.apply.steps import RecordedOutcome, Run
from kgitops.cluster.port import Cluster, RegistryEntry
from kgitops.desired.claims import former_identities
from kgitops.desired.state import Project
from kgitops.model.errors import LockedError
from kgitops.plan.document.plan import Change
from kgitops.reconcile.turns.permission import Permission


class UnfinishedRun(Struct, frozen=True, kw_only=True):
    """The newest unfinished run of a project, and the changes that are not done."""

    run: Run
    remaining: tuple[Change, ...]

    def waits_for(self, permission: Permission) -> tuple[Change, ...]:
        """Return the remaining changes that a person must finish, because a loop may not."""
        return tuple(change for change in self.remaining if not permission.permits(change))


def own_unfinished(latest: Latest, project: Project) -> UnfinishedRun | None:
    """Return the run that a resume would continue with; None if there is none.

    Raises:
        SafetyError: the journal can't be read.
    """
    known = known_projects(latest)
    runs = unfinished_runs(latest, {project.identity, *former_identities(project, known)})
    if not runs:
        return None
    run = runs[-1]
    done = {name for name, step in run.steps.items() if step.outcome is RecordedOutcome.DONE}
    plan = read_sealed(run, latest).plan
    remaining = tuple(
        change
        for change in plan.changes
        if not done.issuperset([planned.id for planned in change.requests] or [change.address])
    )
    return UnfinishedRun(run=run, remaining=remaining)


def others_unfinished(latest: Latest, project: Project) -> tuple[str, ...]:
    """Return the names of other projects with an unfinished run, in order.

    Raises:
        SafetyError: the journal can't be read.
    """
    known = known_projects(latest)
    mine = {project.identity, *former_identities(project, known)}
    others = set(known.projects) - mine
    return tuple(sorted({known.projects[run.project] for run in unfinished_runs(latest, others)}))


class SeenClaim(Struct, frozen=True, kw_only=True):
    """A claim on the lock, and the ticks of a clock that is never set when it was first seen."""

    claim: Claim
    since: float


def lock_of_others(
    cluster: Cluster, entries: Sequence[RegistryEntry], ticks: float, before: SeenClaim | None
) -> SeenClaim | None:
    """Return the claim of whoever holds the lock and may be at work; None if nobody is.

    A claim that was not renewed for as long as its lease is dead also where this machine's clock
    was set back and says otherwise.
    """
    claim = live_claim(entries, cluster.registry.now_ms())
    if claim is None:
        return None
    if before is None or before.claim != claim:
        return SeenClaim(claim=claim, since=ticks)
    lease_s = (claim.lease_until_ms - claim.written_ms) / 1000
    return None if ticks - before.since >= lease_s else before


def run_of_others(held: SeenClaim, run: Run) -> LockedError:
    """Build the error for a run that isn't finished while somebody may be at work on it.

    Else every ``kgitops apply`` of a person would look like one that died, and be told as such.
    """
    advice = f"the next turn looks again whether the run {run.id} of this project is finished"
    return locked_error(held.claim, advice)
