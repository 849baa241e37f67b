"""Releasing a project's objects to another project, which may then take them over."""

from kgitops.apply.context import ApplyContext
from kgitops.apply.lock import acquire
from kgitops.apply.lock_claims import claimant
from kgitops.cluster.port import Cluster
from kgitops.cluster.registry import Release, release_record
from kgitops.desired.claims import former_identities, owned_by, successor
from kgitops.desired.state import Project
from kgitops.model import clock as moments
from kgitops.model.errors import SafetyError, UsageError
from kgitops.model.registry import DEFAULT_PROJECT, RegistryState


def releasable(cluster: Cluster, project: Project, to: str | None) -> tuple[RegistryState, int]:
    """Return the registry, and the number of objects that the project can release.

    Raises:
        UsageError: the project would release them to itself.
        SafetyError: the registry does not know the project, or another one took it over.
    """
    if to is not None and to in (project.identity, DEFAULT_PROJECT):
        raise UsageError(
            f"--to {to} is not another project; give the uid of the one that takes over"
        )
    registry = cluster.read_state(frozenset()).registry
    known = registry is not None and project.identity in registry.projects
    if registry is None or not known or project.identity == DEFAULT_PROJECT:
        raise SafetyError(
            f"the project {project.name!r} ({project.identity}) was never applied to this cluster, "
            "so it owns nothing to release; run the command in the project that owns the objects"
        )
    heir = successor(project.identity, registry)
    if heir is not None:
        raise SafetyError(
            f"the project {registry.projects.get(heir, heir)!r} ({heir}) took over this project's "
            "objects, so there is nothing to release; release them there"
        )
    mine = {project.identity, *former_identities(project, registry)}
    return registry, len(owned_by(mine, registry.owners))


def write_release(context: ApplyContext, project: Project, to: str | None, *, holder: str) -> bool:
    """Write the release to the project ``to`` under the lock, or withdraw it where it is None.

    Return False where it was interrupted before.

    Raises:
        LockedError: another process holds the lock.
        SafetyError: the project can't release anything, or the registry can't be read.
    """
    lock = acquire(context, holder=claimant(holder, project))
    if lock is None:
        return False
    try:
        releasable(context.cluster, project, to)
        at = moments.to_text(context.clock.now())
        release = None if to is None else Release(to=to, at=at, holder=holder)
        lock.append([release_record(project.identity, release)])
    finally:
        lock.release()
    return True
