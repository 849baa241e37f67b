"""Taking over other projects' objects (contract §15): in a plan of its own, with their consent.

Such a plan changes the owner in the registry's records, and nothing else. All that the documents
say about the objects, deletions included, follows in the next plan.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.claims import (
    ClaimKind,
    OwnershipClaim,
    claims_of,
    former_identities,
    is_free,
    owned_by,
    successor,
)
from kgitops.desired.last_applied import ORIGIN
from kgitops.desired.state import DesiredState, Project
from kgitops.model.registry import Owner, RegistryState, TakeoverRecord
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import KIND_OF_SORT
from kgitops.model.source import Finding, Severity, Source
from kgitops.model.wording import counted, resume_command_of
from kgitops.plan.context import selected
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, LastRun, Takeover
from kgitops.plan.draft import PlanDraft
from kgitops.plan.shown import shown_takeover

_NAMED = 10
"""Addresses in a sentence."""
_UNREADABLE = ""
"""The project of a run whose header can't be read: it may be any."""


class Taking(Struct, frozen=True, kw_only=True):
    """A takeover, and the addresses of the objects that it takes."""

    takeover: Takeover
    addresses: tuple[str, ...]


def find_takeovers(desired: DesiredState, registry: RegistryState | None) -> tuple[Taking, ...]:
    """Return what the project's claims take over; a claim that takes nothing is no takeover."""
    if registry is None or not desired.scope.takes_over:
        return ()
    project = desired.project
    return tuple(
        Taking(takeover=describe(claim, project, registry), addresses=addresses)
        for claim in claims_of(project, registry)
        if (addresses := _taken(claim, desired, registry))
        or (claim.kind is ClaimKind.FORMERLY and not is_free(claim, registry))
    )


def _taken(
    claim: OwnershipClaim, desired: DesiredState, registry: RegistryState
) -> tuple[str, ...]:
    owned = owned_by(claim.identities, registry.owners)
    if claim.kind is ClaimKind.FORMERLY:
        return tuple(owned)
    declared = {it.address for it in desired.objects if selected(desired, it.address)}
    return tuple(
        address
        for address in owned
        if address in declared or _member(registry.owners[address]) in declared
    )


def _member(owner: Owner) -> str | None:
    """Return the member that an ACL was copied for: the copy goes where the member goes."""
    origin = owner.last_applied.get(ORIGIN)
    return origin["member"] if origin else None


def describe(claim: OwnershipClaim, project: Project, registry: RegistryState) -> Takeover:
    """Return the claimed project as the registry knows it."""
    runs = registry.runs_of(claim.identities)
    last = None
    if runs:
        run_id, run = runs[-1]
        last = LastRun(id=run_id, started=run.started, holder=run.holder)
    return Takeover(
        kind=claim.kind,
        identity=claim.identity,
        name=claim.name,
        identities=tuple(sorted(claim.identities)),
        objects=len(owned_by(claim.identities, registry.owners)),
        released=registry.releases.get(claim.identity) == project.identity,
        last_run=last,
    )


def is_agreed(takeover: Takeover, allowed: Collection[str]) -> bool:
    """Return whether the other project released its objects, or the user allowed the takeover."""
    return takeover.released or takeover.identity in allowed


def takeover_problem(
    takeover: Takeover,
    project: Project,
    registry: RegistryState,
    *,
    allowed: Collection[str],
    target_name: str,
) -> str | None:
    """Explain why the project may not be taken over now; None if it may."""
    heir = successor(takeover.identity, registry)
    if heir not in (None, project.identity):
        return (
            f"{takeover.label} is a former identity of the project "
            f"{registry.projects.get(heir or '', heir)!r} ({heir}); claim that project instead"
        )
    unfinished = [
        (run_id, run)
        for run_id, run in registry.runs_of({*takeover.identities, _UNREADABLE})
        if run.unfinished
    ]
    if unfinished:
        run_id, run = unfinished[-1]
        return (
            f"{takeover.label} can't be taken over: its run {run_id}, begun {run.started} by "
            f"{run.holder}, did not finish; finish it with "
            f"`{resume_command_of(target_name, None)}` in that project"
        )
    if is_agreed(takeover, allowed):
        return None
    return (
        f"{description(takeover)}, and metadata.{takeover.kind} takes over "
        f"{'all of them' if takeover.kind is ClaimKind.FORMERLY else 'those declared here'}; that "
        f"project must release them first: run `kgitops registry release --to {project.identity} "
        f"-c {target_name}` there. Without its release, pass --allow-takeover {takeover.identity}; "
        f"to leave its objects alone, remove the claim"
    )


def description(takeover: Takeover) -> str:
    """Name the project, the number of its objects, and its last run: when, and by whom."""
    run = takeover.last_run
    applied = (
        f"was last applied {run.started} by {run.holder} (run {run.id})"
        if run
        else "has no run in the registry"
    )
    return f"{takeover.label} owns {counted(takeover.objects, 'object')} and {applied}"


def plan_takeovers(
    takings: Sequence[Taking], desired: DesiredState, registry: RegistryState, target_name: str
) -> PlanDraft:
    """Plan the takeovers alone, and the refusals of those that may not happen."""
    project, places = desired.project, {it.address: it.located for it in desired.objects}
    draft = PlanDraft()
    for taking in takings:
        unknown = [it for it in taking.addresses if kind_of(it) not in KIND_OF_SORT]
        if unknown:
            draft.refuse(
                f"{taking.takeover.label} owns {counted(len(unknown), 'object')} of kinds that "
                f"this version of kgitops does not know, such as {unknown[0]}; upgrade it first"
            )
        for address in (it for it in taking.addresses if kind_of(it) in KIND_OF_SORT):
            place = places.get(address)
            draft.changes.append(
                takeover_change(
                    address,
                    registry.owners[address],
                    taking.takeover,
                    project.identity,
                    source=place.source if place else None,
                )
            )
        problem = takeover_problem(
            taking.takeover,
            project,
            registry,
            allowed=desired.safety.allow_takeover,
            target_name=target_name,
        )
        if problem:
            draft.refuse(problem)
        elif taking.takeover.kind is ClaimKind.FORMERLY and _is_partial(desired):
            draft.refuse(
                f"metadata.formerly takes over every object of {taking.takeover.label}; plan the "
                "whole project, without PATH, --target, --exclude and --selector"
            )
    unfinished = own_run_problem(project, registry, target_name)
    if unfinished:
        draft.refuse(unfinished)
    return draft


def own_run_problem(project: Project, registry: RegistryState, target_name: str) -> str | None:
    """Explain that the project must finish its own run first; None if it has none to finish."""
    own = registry.runs_of(registry.identities_of(project.identity))
    unfinished = next((run_id for run_id, run in reversed(own) if run.unfinished), None)
    if unfinished is None:
        return None
    return (
        f"the run {unfinished} of this project did not finish, and a plan that takes over does "
        f"not continue it; finish it with `{resume_command_of(target_name, None)}`"
    )


def _is_partial(desired: DesiredState) -> bool:
    scope = desired.scope
    return bool(not scope.whole or scope.targets or scope.excludes)


def takeover_change(
    address: str, owner: Owner, takeover: Takeover, identity: str, *, source: Source | None
) -> Change:
    """Return the change of the object's owner to the project ``identity``, and of nothing else."""
    change = Change(
        address=address,
        kind=KIND_OF_SORT[kind_of(address)],
        source=source,
        before=None,
        owner_before=owner,
        owner_after=replace(owner, project=identity),
    )
    shown = shown_takeover(change, (takeover,))
    return replace(
        change,
        actions=shown.actions,
        fields=shown.fields,
        risks=shown.risks,
        because=shown.because,
    )


def taken_from(takeover: Takeover, changes: Iterable[Change]) -> int:
    """Count the changes that take an object from this project."""
    return sum(
        change.owner_before is not None and change.owner_before.project in takeover.identities
        for change in changes
    )


def takes_over(change: Change) -> bool:
    """Return whether the change takes the object over from another project."""
    return risks.PROJECT_TAKEN_OVER in change.risks


def ownership_notices(project: Project, registry: RegistryState | None) -> list[Finding]:
    """Warn of objects that other projects took over, and of a release that still counts."""
    if registry is None:
        return []
    mine = {project.identity, *former_identities(project, registry)}
    warnings = [
        _warning(
            f"{taken_words(taken)} took over {counted(len(taken.objects), 'object')} of this "
            f"project: {_some(taken.objects)}",
            "remove their documents; where that was a mistake, agree with that project how they "
            "come back",
        )
        for _, taken in sorted(registry.takeovers.items())
        if taken.project in mine and taken.by not in mine
    ]
    heir = registry.releases.get(project.identity)
    if heir and owned_by(mine, registry.owners):
        name = registry.projects.get(heir)
        warnings.append(
            _warning(
                f"the project {f'{name!r} ({heir})' if name else heir} may take over the objects "
                "of this project, because this project released them",
                "to end that, run kgitops registry release --withdraw",
            )
        )
    return warnings


def taken_words(taken: TakeoverRecord) -> str:
    """``the project 'billing' (…), in run …, begun … by …``."""
    return (
        f"the project {taken.name!r} ({taken.by}), in its run {taken.run} of {taken.at} by "
        f"{taken.holder},"
    )


def _some(addresses: Sequence[str]) -> str:
    more = f" and {len(addresses) - _NAMED:,} more" if len(addresses) > _NAMED else ""
    return f"{', '.join(addresses[:_NAMED])}{more}"


def _warning(problem: str, advice: str) -> Finding:
    return Finding(source=None, problem=problem, advice=advice, severity=Severity.WARNING)
