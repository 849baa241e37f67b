"""The identities of one project: a new uid makes no stranger of it (contract §1, Owners)."""

from kgitops.desired.state import Project
from kgitops.model.registry import DEFAULT_PROJECT, RegistryState


def former_identities(project: Project, registry: RegistryState | None) -> frozenset[str]:
    """The identities that ``project`` had before: what is theirs in the registry is its own.

    A name in ``formerly`` stands for whoever has it when this project is applied for the first
    time, and the registry remembers who that was: somebody else may take the name later.
    """
    if registry is None:
        return frozenset(project.formerly) - {project.identity, DEFAULT_PROJECT}
    found = {*project.formerly, *registry.formerly.get(project.identity, ())}
    if project.identity not in registry.projects:
        found |= {it for it, name in registry.projects.items() if name in project.formerly}
    return frozenset(found - {project.identity, DEFAULT_PROJECT})


def to_remember(project: Project, registry: RegistryState | None) -> tuple[str, ...]:
    """Their record in the registry: who they were, and the names that nobody else may take."""
    known = registry.projects if registry else {}
    former = {it for it in former_identities(project, registry) if it in known}
    return tuple(sorted({*former, *project.formerly}))
