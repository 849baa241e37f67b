"""Whose objects are whose, as the registry on the cluster tells (contract §1, Owners)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from kgitops.desired.last_applied import former_identities
from kgitops.desired.state import DeletionPolicy, Project
from kgitops.model.registry import DEFAULT_PROJECT, Json, Owner, RegistryState
from kgitops.model.resources.addresses import kind_of
from kgitops.model.verdict import ExitCode, Reason

EXECUTED_TOMBSTONES = "tombstones"
"""In ``last_applied``: the names of the Tombstones that deleted an object of this address."""

_NOBODY: Mapping[str, Owner] = {}


class OwnershipStatus(Enum):
    """How this project stands to one object."""

    UNMANAGED = auto()
    MINE = auto()
    TAKEABLE = auto()
    FOREIGN = auto()
    SPENT = auto()
    """A Tombstone deleted the object that this record was about; nobody manages the name."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The registry seen by one project.

    ``former`` are the identities that the project had before: it *is* them, so that their objects
    are its own. ``takeable`` are identities whose objects it may take over: ``default``, and what
    it declares in ``takeFrom``. ``managed`` are the addresses of what it manages, by kind
    (``topic``, ``link``, …), objects inside of virtual clusters included.
    """

    identity: str
    owners: Mapping[str, Owner]
    names: Mapping[str, str]
    former: frozenset[str]
    takeable: frozenset[str]
    managed: Mapping[str, tuple[str, ...]]

    def status(self, address: str) -> OwnershipStatus:
        """How this project stands to the object at ``address``."""
        owner = self.owners.get(address)
        if owner is None:
            return OwnershipStatus.UNMANAGED
        if owner.spent:
            return OwnershipStatus.SPENT
        if self.is_own(owner):
            return OwnershipStatus.MINE
        return (
            OwnershipStatus.TAKEABLE if owner.project in self.takeable else OwnershipStatus.FOREIGN
        )

    def owner(self, address: str) -> Owner | None:
        """The record at ``address``, spent ones included."""
        return self.owners.get(address)

    def is_own(self, owner: Owner) -> bool:
        """True if the record is this project's, under whichever of its identities."""
        return owner.project == self.identity or owner.project in self.former

    def last_applied(self, address: str) -> Mapping[str, Json]:
        """What this project, or the one it takes over from, last applied; empty if neither did."""
        owner = self.owners.get(address)
        if owner is None or self.status(address) not in (
            OwnershipStatus.MINE,
            OwnershipStatus.TAKEABLE,
        ):
            return {}
        return owner.last_applied

    def mine(self, *kinds: str) -> Iterator[str]:
        """Addresses that this project manages, of these kinds; of all where none is named."""
        for kind in kinds or self.managed:
            yield from self.managed.get(kind, ())

    def label(self, address: str) -> str:
        """The owner of ``address`` for a sentence: its project's name."""
        owner = self.owners.get(address)
        return "nobody" if owner is None else self.names.get(owner.project, owner.project)

    def executed_tombstones(self, address: str) -> tuple[str, ...]:
        """The Tombstones that this project spent at ``address``; they mean nothing any more."""
        owner = self.owners.get(address)
        return (
            tuple(owner.last_applied.get(EXECUTED_TOMBSTONES, ()))
            if owner and self.is_own(owner)
            else ()
        )


def removal_policy(owner: Owner) -> DeletionPolicy:
    """What removing the object's document would do: the first removal of an adopted one forgets."""
    if owner.adopted and not owner.last_applied["deletionPolicyWritten"]:
        return DeletionPolicy.ORPHAN
    return DeletionPolicy(owner.last_applied["deletionPolicy"])


def build_ownership(project: Project, registry: RegistryState | None) -> Ownership:
    """The registry as ``project`` sees it; one that does not exist yet owns nothing."""
    names = registry.projects if registry else {}
    declared = {*project.take_from, DEFAULT_PROJECT}
    takeable = {identity for identity, name in names.items() if {identity, name} & declared}
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
        names=names,
        former=former,
        takeable=frozenset((takeable | {DEFAULT_PROJECT}) - mine),
        managed={kind: tuple(addresses) for kind, addresses in managed.items()},
    )


def identity_problem(project: Project, registry: RegistryState | None) -> Reason | None:
    """Why this project may not be who it says, by the names and uids that the registry knows."""
    if registry is None:
        return None
    sentence = _renamed(project, registry) or next(
        filter(None, (_clash(project, registry, it) for it in sorted(registry.projects))), None
    )
    return Reason(exit=ExitCode.REFUSED, sentence=sentence) if sentence else None


def _renamed(project: Project, registry: RegistryState) -> str | None:
    known = registry.projects.get(project.identity, project.name)
    if known == project.name or known in project.formerly:
        return None
    return (
        f"the project with uid {project.identity} was last applied as {known!r}, now it says "
        f"{project.name!r}; declare metadata.formerly: [{known}] if it was renamed"
    )


def _clash(project: Project, registry: RegistryState, identity: str) -> str | None:
    """The reason to refuse this project beside the one that the registry knows as ``identity``."""
    name = registry.projects[identity]
    taken = {*project.take_from, DEFAULT_PROJECT}
    if identity == project.identity or {name, identity} & taken:
        return None
    if identity in former_identities(project, registry):
        return None
    if name in project.formerly:
        return (
            f"the project {name!r} with the identity {identity} has a name of metadata.formerly, "
            f"and was not this project when that was first applied; write {identity} into formerly "
            f"if it is a former identity all the same, else remove {name} there"
        )
    if name == project.name:
        return (
            f"the cluster knows a project {name!r} with the identity {identity}, this one "
            f"is {project.identity}; declare metadata.formerly: [{identity}] if it is a former "
            f"identity of this one, metadata.takeFrom: [{name}] to take its objects over, or give "
            "this project another name"
        )
    if {project.identity, project.name} & {*registry.formerly.get(identity, ())}:
        return (
            f"the project {name!r} ({identity}) says that it was formerly {project.name!r}; apply "
            "from there, or give this project another name and uid"
        )
    return None
