"""Whose objects are whose, as the registry on the cluster tells (contract §1, Owners)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from kgitops.desired.state import DeletionPolicy, Project
from kgitops.model.addresses import kind_of
from kgitops.model.registry import DEFAULT_PROJECT, Json, Owner, RegistryState
from kgitops.model.verdict import ExitCode, Reason

BURIED = "tombstones"
"""In ``last_applied``: the names of the Tombstones that deleted an object of this address."""

_NOBODY: Mapping[str, Owner] = {}


class Standing(Enum):
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

    ``takeable`` are identities whose objects this project may take over: ``default``, its own
    former names, and what it declares in ``takeFrom``. ``managed`` are the addresses of what it
    manages, by kind (``topic``, ``link``, …), objects inside of virtual clusters included.
    """

    identity: str
    owners: Mapping[str, Owner]
    names: Mapping[str, str]
    takeable: frozenset[str]
    managed: Mapping[str, tuple[str, ...]]

    def standing(self, address: str) -> Standing:
        """How this project stands to the object at ``address``."""
        owner = self.owners.get(address)
        if owner is None:
            return Standing.UNMANAGED
        if owner.spent:
            return Standing.SPENT
        if owner.project == self.identity:
            return Standing.MINE
        return Standing.TAKEABLE if owner.project in self.takeable else Standing.FOREIGN

    def owner(self, address: str) -> Owner | None:
        """The record at ``address``, spent ones included."""
        return self.owners.get(address)

    def last_applied(self, address: str) -> Mapping[str, Json]:
        """What this project, or the one it takes over from, last applied; empty if neither did."""
        owner = self.owners.get(address)
        if owner is None or self.standing(address) not in (Standing.MINE, Standing.TAKEABLE):
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


def removal_policy(owner: Owner) -> DeletionPolicy:
    """What removing the object's document would do: the first removal of an adopted one forgets."""
    if owner.adopted and not owner.last_applied["deletionPolicyWritten"]:
        return DeletionPolicy.ORPHAN
    return DeletionPolicy(owner.last_applied["deletionPolicy"])


def build_ownership(project: Project, registry: RegistryState | None) -> Ownership:
    """The registry as ``project`` sees it; one that does not exist yet owns nothing."""
    names = registry.projects if registry else {}
    declared = {*project.take_from, *project.formerly, DEFAULT_PROJECT}
    takeable = {identity for identity, name in names.items() if {identity, name} & declared}
    owners = registry.owners if registry else _NOBODY
    managed: dict[str, list[str]] = {}
    for address, owner in owners.items():
        if owner.project == project.identity and not owner.spent:
            managed.setdefault(kind_of(address), []).append(address)
    return Ownership(
        identity=project.identity,
        owners=owners,
        names=names,
        takeable=frozenset((takeable | {DEFAULT_PROJECT}) - {project.identity}),
        managed={kind: tuple(addresses) for kind, addresses in managed.items()},
    )


def identity_problem(project: Project, registry: RegistryState | None) -> Reason | None:
    """Why this project may not be who it says: a known name with another uid, or the reverse."""
    known = registry.projects if registry else {}
    sentence = None
    former = known.get(project.identity)
    if former is not None and former != project.name and former not in project.formerly:
        sentence = (
            f"the project with uid {project.identity} was last applied as {former!r}, now it says "
            f"{project.name!r}; declare metadata.formerly: [{former}] if it was renamed"
        )
    else:
        for identity, name in sorted(known.items()):
            clash = identity != project.identity and name == project.name
            if clash and not {name, identity} & {*project.take_from, *project.formerly}:
                sentence = (
                    f"the cluster knows a project {name!r} with the identity {identity}, this one "
                    f"is {project.identity}; declare metadata.takeFrom: [{name}] to take its "
                    "objects over, or give this project another name"
                )
    return Reason(exit=ExitCode.REFUSED, sentence=sentence) if sentence else None
