"""The owners of objects, according to the registry on the cluster (contract §1, Owners)."""

from collections.abc import Collection, Iterator, Mapping
from enum import Enum, auto

from msgspec import Struct

from kgitops.desired.claims import (
    ClaimKind,
    OwnershipClaim,
    claims_of,
    former_identities,
    is_free,
    owned_by,
)
from kgitops.desired.state import Project
from kgitops.model.json.declared import DeletionPolicy
from kgitops.model.registry import DEFAULT_PROJECT, Json, Owner, RegistryState, TakeoverRecord
from kgitops.model.resources.addresses import kind_of
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document import risks
from kgitops.plan.document.plan import FieldChange
from kgitops.plan.document.risks import Risk

EXECUTED_TOMBSTONES = "tombstones"
"""Key in ``last_applied``: the names of the Tombstones that deleted an object of this address."""

_NOBODY: Mapping[str, Owner] = {}


class OwnershipStatus(Enum):
    """The relation of this project to one object."""

    UNMANAGED = auto()
    MINE = auto()
    TRANSFERABLE = auto()
    FOREIGN = auto()
    TOMBSTONED = auto()
    """A Tombstone deleted the object of this record; no project manages the name."""

    @property
    def of_another(self) -> bool:
        """True if another project manages the object, whether or not it may be taken."""
        return self in (OwnershipStatus.TRANSFERABLE, OwnershipStatus.FOREIGN)


class Ownership(Struct, frozen=True):
    """The registry from the point of view of one project.

    ``former`` are the project's former identities, whose objects are its own. An object of the
    project ``default`` is takeable; those of other projects take a plan that takes over
    (``plan.takeovers``). ``managed`` are the addresses of the objects that it manages, by kind
    (``topic``, ``link``, …), including those inside of virtual clusters. ``lost`` are the takeovers
    by other projects, by address.
    """

    identity: str
    owners: Mapping[str, Owner]
    names: Mapping[str, str]
    former: frozenset[str]
    managed: Mapping[str, tuple[str, ...]]
    lost: Mapping[str, TakeoverRecord]

    def status(self, address: str) -> OwnershipStatus:
        """Return the relation of this project to the object at ``address``."""
        owner = self.owners.get(address)
        if owner is None:
            return OwnershipStatus.UNMANAGED
        if owner.spent:
            return OwnershipStatus.TOMBSTONED
        if self.is_own(owner):
            return OwnershipStatus.MINE
        return (
            OwnershipStatus.TRANSFERABLE
            if owner.project == DEFAULT_PROJECT
            else OwnershipStatus.FOREIGN
        )

    def owner(self, address: str) -> Owner | None:
        """Return the record at ``address``, even if it is spent."""
        return self.owners.get(address)

    def is_own(self, owner: Owner) -> bool:
        """Return True if the record is this project's, under any of its identities."""
        return owner.project == self.identity or owner.project in self.former

    def last_applied(self, address: str) -> Mapping[str, Json]:
        """Return what this project, or ``default``, last applied to the object; else nothing."""
        owner = self.owners.get(address)
        if owner is None or self.status(address) not in (
            OwnershipStatus.MINE,
            OwnershipStatus.TRANSFERABLE,
        ):
            return {}
        return owner.last_applied

    def mine(self, *kinds: str) -> Iterator[str]:
        """Yield the addresses of objects of these kinds that this project manages; default: all."""
        for kind in kinds or self.managed:
            yield from self.managed.get(kind, ())

    def label(self, address: str) -> str:
        """Return the name of the project that owns ``address``, for a sentence."""
        owner = self.owners.get(address)
        return "nobody" if owner is None else self.names.get(owner.project, owner.project)

    def taken_from(self, address: str) -> str | None:
        """Return the name of the project that the object is taken over from, None if it is not."""
        takes = self.status(address) is OwnershipStatus.TRANSFERABLE
        return self.label(address) if takes else None

    def foreign_words(self, address: str) -> str:
        """Return ``belongs to the project 'billing'``, and who took it over if that is known."""
        owner, taken = self.owners.get(address), self.lost.get(address)
        words = f"belongs to the project {self.label(address)!r}"
        if owner is None or taken is None or owner.project != taken.by:
            return words
        return (
            f"{words}, which took it over from this project in its run {taken.run} of {taken.at} "
            f"by {taken.holder}"
        )

    def executed_tombstones(self, address: str) -> tuple[str, ...]:
        """Return the Tombstones that this project executed at ``address``: they never act again."""
        owner = self.owners.get(address)
        return (
            tuple(owner.last_applied.get(EXECUTED_TOMBSTONES, ()))
            if owner and self.is_own(owner)
            else ()
        )


def removal_policy(owner: Owner) -> DeletionPolicy:
    """Return the effect of removing the object's document; by default it forgets an adopted one."""
    if owner.adopted and not owner.last_applied["deletionPolicyWritten"]:
        return DeletionPolicy.ORPHAN
    return DeletionPolicy(owner.last_applied["deletionPolicy"])


def build_ownership(project: Project, registry: RegistryState | None) -> Ownership:
    """Build the ownership of ``project`` from the registry; without one no object is owned."""
    former = former_identities(project, registry)
    mine = {project.identity, *former}
    owners = registry.owners if registry else _NOBODY
    managed: dict[str, list[str]] = {}
    for address, owner in owners.items():
        if owner.project in mine and not owner.spent:
            managed.setdefault(kind_of(address), []).append(address)
    return Ownership(
        identity=project.identity,
        owners=owners,
        names=registry.projects if registry else {},
        former=former,
        managed={kind: tuple(addresses) for kind, addresses in managed.items()},
        lost={
            address: taken
            for _, taken in sorted(registry.takeovers.items() if registry else ())
            if taken.project in mine and taken.by not in mine
            for address in taken.objects
        },
    )


def identity_problem(
    project: Project,
    registry: RegistryState | None,
    *,
    taking: Collection[str] = (),
    allowed: Collection[str] = (),
) -> Reason | None:
    """Explain why this project's name and uid contradict the registry; None if they do not.

    ``taking`` are the projects that the plan takes objects over from, and ``allowed`` those that
    may be taken over without their release.
    """
    if registry is None:
        return None
    claims = {claim.identity: claim for claim in claims_of(project, registry)}
    lifted = {
        identity
        for identity, claim in claims.items()
        if identity in taking or _lifts(claim, project, registry, allowed)
    }
    clashes = (
        _clash(project, registry, identity)
        for identity in sorted(registry.projects)
        if identity not in lifted
    )
    sentence = _renamed(project, registry) or next(filter(None, clashes), None)
    return Reason(exit=ExitCode.REFUSED, sentence=sentence) if sentence else None


def _lifts(
    claim: OwnershipClaim, project: Project, registry: RegistryState, allowed: Collection[str]
) -> bool:
    """Return whether a claim by which this plan takes nothing permits two projects of one name.

    It does with the other project's consent, if that project owns nothing, or once this project was
    applied. It never gives back an identity that the other project took over.
    """
    if claim.kind is ClaimKind.FORMERLY:
        return is_free(claim, registry)
    if {project.identity, project.name} & {*registry.formerly.get(claim.identity, ())}:
        return False
    return (
        project.identity in registry.projects
        or claim.identity in allowed
        or registry.releases.get(claim.identity) == project.identity
        or not owned_by(claim.identities, registry.owners)
    )


def _renamed(project: Project, registry: RegistryState) -> str | None:
    name = registry.projects.get(project.identity, project.name)
    if name == project.name or name in project.formerly:
        return None
    return (
        f"the project with uid {project.identity} was last applied as {name!r}, now it says "
        f"{project.name!r}; declare metadata.formerly: [{name}] if it was renamed"
    )


def _clash(project: Project, registry: RegistryState, identity: str) -> str | None:
    """Explain a conflict with the project ``identity`` of the registry; None if there is none."""
    name = registry.projects[identity]
    if identity == project.identity or DEFAULT_PROJECT in (name, identity):
        return None
    if identity in former_identities(project, registry):
        return None
    consent = (
        f"that moves all objects of {name!r} to this project, and needs its release (`kgitops "
        f"registry release --to {project.identity}` there) or --allow-takeover {identity}"
    )
    former = {*registry.formerly.get(identity, ())}
    if project.identity in former or (project.name in former and name != project.name):
        return (
            f"the project {name!r} ({identity}) says that it was formerly {project.name!r}"
            f"{_taken_by(project, registry, identity)}; apply from there, or give this project "
            "another name and uid"
        )
    if name in project.formerly:
        return (
            f"the project {name!r} with the identity {identity} has a name of metadata.formerly, "
            f"and was not this project when that was first applied; remove {name} there, or write "
            f"{identity} into formerly if it is a former identity all the same: {consent}"
        )
    if name == project.name:
        return (
            f"the cluster knows a project {name!r} with the identity {identity}, this one "
            f"is {project.identity}; give this project another name. Only if the other one is to "
            f"end here, declare metadata.formerly: [{identity}]: {consent}. metadata.takeFrom: "
            f"[{name}] does the same for the objects that this project declares"
        )
    return None


def adoption_reason(before: Owner | None, taken_from: str | None) -> str:
    """Explain why an existing object is adopted; ``taken_from`` names the project that owns it."""
    if taken_from is not None:
        return f"it is taken over from the project {taken_from!r}"
    if before is not None and not before.spent:
        return "it was deleted and re-created outside of kgitops"
    return "it exists and no project manages it"


def _taken_by(project: Project, registry: RegistryState, identity: str) -> str:
    """Return when and by whom the project ``identity`` took over this one, where that is known."""
    runs = {
        (taken.run, taken.at, taken.holder)
        for taken in registry.takeovers.values()
        if taken.project == project.identity and taken.by == identity
    }
    return "".join(
        f", and took over its objects in its run {run} of {at} by {holder}"
        for run, at, holder in sorted(runs, key=lambda found: found[1])
    )


def record_change_reason(before: Owner | None, after: Owner) -> str:
    """Explain why only the registry's record changes."""
    if before is not None and before.project != after.project:
        return "it was applied under a former identity of this project"
    return "its document says more than was last applied"


def registry_fields(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    """Return the differences between two records if the cluster itself does not change."""
    old = _flat(before.last_applied) if before else {}
    new = _flat(after.last_applied)
    return (*_identity_field(before, after), *_declared_fields(before, after, old, new))


def _identity_field(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    if before is None or before.project == after.project:
        return ()
    return (
        FieldChange(
            path="owner",
            before=before.project,
            after=after.project,
            risk=risks.REGISTRY_ONLY,
            note="registry only",
        ),
    )


def _declared_fields(
    before: Owner | None, after: Owner, old: Mapping[str, str], new: Mapping[str, str]
) -> tuple[FieldChange, ...]:
    return tuple(
        _registry_field(
            path,
            old.get(path),
            new.get(path),
            risks.PROTECTION_LOWERED
            if path in PROTECTION and _lowers_protection(before, after)
            else risks.REGISTRY_ONLY,
        )
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    )


def protection_fields(before: Owner | None, after: Owner) -> tuple[FieldChange, ...]:
    """Return the field change of a weaker protection against removal, next to other changes."""
    if before is None or before.spent or not _lowers_protection(before, after):
        return ()
    old, new = removal_policy(before).value, removal_policy(after).value
    return (_registry_field("deletionPolicy", old, new, risks.PROTECTION_LOWERED),)


PROTECTION = ("deletionPolicy", "deletionPolicyWritten")
"""The parts of a record that decide what the removal of its document means."""
_STRENGTH = (DeletionPolicy.DELETE, DeletionPolicy.ORPHAN, DeletionPolicy.PROTECT)


def _lowers_protection(before: Owner | None, after: Owner) -> bool:
    if before is None:
        return False
    old, new = removal_policy(before), removal_policy(after)
    return old is not new and _STRENGTH.index(new) < _STRENGTH.index(old)


def _registry_field(path: str, before: str | None, after: str | None, risk: Risk) -> FieldChange:
    return FieldChange(
        path=f"lastApplied.{path}", before=before, after=after, risk=risk, note="registry only"
    )


def _flat(value: object, prefix: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        parts: dict[str, str] = {}
        for key, item in value.items():
            parts |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
        return parts
    return {} if value is None else {prefix: str(value)}
