"""The project's last applied declarations as a desired state: a plan for it shows the drift."""

from msgspec import Struct

from kgitops.desired.claims import former_identities
from kgitops.desired.state import DesiredState, ManagedScope, Project, Safety
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.declared import declared_object
from kgitops.model.registry import RegistryState
from kgitops.model.source import Source

ORIGIN = "origin"
"""The key in ``last_applied`` of a copied ACL that names its member and the source."""


class RegistrySource(Struct, frozen=True):
    """The source of a declaration that comes from the registry, which has no lines."""

    address: str

    @property
    def source(self) -> Source:
        """The record's key, as a place."""
        return Source(f"registry:own/{self.address}", 1, 1)

    def at(self, *path: str | int) -> Source:
        """Return the same place for any path."""
        del path
        return self.source


def desired_from_registry(
    project: Project, registry: RegistryState | None, *, safety: Safety, principal: str
) -> DesiredState:
    """Build the desired state that ``project`` last applied, as if it were still declared."""
    mine = {project.identity, *former_identities(project, registry)}
    owned = {
        address: owner
        for address, owner in sorted((registry.owners if registry else {}).items())
        if owner.project in mine and not owner.spent
    }
    digest = sha256(canonical_json({key: dict(o.last_applied) for key, o in owned.items()}))
    # Copied ACLs follow from their member, as they did when they were planned.
    objects = [
        declared_object(address, owner.last_applied, RegistrySource(address))
        for address, owner in owned.items()
        if ORIGIN not in owner.last_applied
    ]
    state = DesiredState(
        project=project,
        scope=ManagedScope(whole=True, takes_over=False),
        safety=safety,
        principal=principal,
        digest=digest,
    )
    return state.with_objects(objects)
