"""A project's claims on other projects, by ``metadata.formerly`` and ``metadata.takeFrom``.

A claim gives nothing until a plan that takes over is applied (contract §15). Only then does the
registry remember a project that ``formerly`` names as a former identity of the other.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from msgspec import Struct

from kgitops.desired.state import Project
from kgitops.model.registry import COMMAND_PROJECT, DEFAULT_PROJECT, Owner, RegistryState


class ClaimKind(StrEnum):
    """The field of the project file that claims."""

    FORMERLY = "formerly"
    """Takes every object: this project is the other one's successor."""
    TAKE_FROM = "takeFrom"
    """Takes the objects that this project declares."""


class OwnershipClaim(Struct, frozen=True, kw_only=True):
    """A claim on the living project ``identity``; ``identities`` are all that its objects have."""

    kind: ClaimKind
    identity: str
    name: str
    identities: frozenset[str]


def former_identities(project: Project, registry: RegistryState | None) -> frozenset[str]:
    """Return the former identities that the registry remembers: their objects are the project's."""
    if registry is None:
        return frozenset()
    return registry.identities_of(project.identity) - {project.identity}


def claims_of(project: Project, registry: RegistryState | None) -> tuple[OwnershipClaim, ...]:
    """Return the project's claims on projects that the registry knows, in order.

    A name in ``formerly`` stands for the project that bears it when this one is applied for the
    first time. A former identity of another project is claimed with that project only.
    """
    if registry is None or not (project.formerly or project.take_from):
        return ()
    own = {
        project.identity,
        DEFAULT_PROJECT,
        COMMAND_PROJECT,
        *former_identities(project, registry),
    }
    named = {
        identity: kind
        for identity in _known(registry) - own
        if (kind := _kind(project, registry, identity))
    }
    return tuple(
        OwnershipClaim(
            kind=named[identity],
            identity=identity,
            name=registry.projects.get(identity, identity),
            identities=registry.identities_of(identity) - own,
        )
        for identity in sorted(named)
        if successor(identity, registry) not in named
    )


def successor(identity: str, registry: RegistryState) -> str | None:
    """Return the project that took over the project ``identity`` as a former one, if any did."""
    return next(
        (
            other
            for other in sorted(registry.projects)
            if other != identity and identity in registry.formerly.get(other, ())
        ),
        None,
    )


def owned_by(identities: Collection[str], owners: Mapping[str, Owner]) -> list[str]:
    """Return the addresses of the objects of these identities, in order."""
    return sorted(
        address
        for address, owner in owners.items()
        if owner.project in identities and not owner.spent
    )


def identities_to_remember(
    project: Project, registry: RegistryState | None, taken: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the former identities and the reserved names, as the registry records them.

    ``taken`` are the projects that this run takes over whole. A claimed project that owns nothing,
    and whose runs are all finished, is remembered as well.
    """
    if registry is None:
        return ()
    known, remembered = _known(registry), former_identities(project, registry)
    gained = gained_claims(project, registry, taken)
    names = {registry.projects.get(project.identity), *(claim.name for claim in gained)}
    # A name that this project had, or one that it took over: no other project may bear it, as long
    # as it is declared.
    reserved = {it for it in project.formerly if it not in known and it in {*remembered, *names}}
    identities = {
        *(remembered & known),
        *reserved,
        *(it for claim in gained for it in registry.identities_of(claim.identity)),
    }
    return tuple(sorted(identities - {project.identity, DEFAULT_PROJECT}))


def gained_claims(
    project: Project, registry: RegistryState, taken: Collection[str]
) -> tuple[OwnershipClaim, ...]:
    """Return the claims by ``formerly`` that an apply executes: those ``taken``, and free ones."""
    return tuple(
        claim
        for claim in claims_of(project, registry)
        if claim.kind is ClaimKind.FORMERLY
        and (claim.identity in taken or is_free(claim, registry))
    )


def is_free(claim: OwnershipClaim, registry: RegistryState) -> bool:
    """Return whether the claimed project owns nothing, has no unfinished run and no successor."""
    unfinished = any(run.unfinished for _, run in registry.runs_of(claim.identities))
    taken = successor(claim.identity, registry) is not None
    return not (unfinished or taken or owned_by(claim.identities, registry.owners))


def _known(registry: RegistryState) -> frozenset[str]:
    owning = {owner.project for owner in registry.owners.values() if not owner.spent}
    return frozenset({*registry.projects, *owning})


def _kind(project: Project, registry: RegistryState, identity: str) -> ClaimKind | None:
    name = registry.projects.get(identity, identity)
    first = project.identity not in registry.projects
    if identity in project.formerly or (first and name in project.formerly):
        return ClaimKind.FORMERLY
    return ClaimKind.TAKE_FROM if {identity, name} & {*project.take_from} else None
