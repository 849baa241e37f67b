"""Explains an object: each of its values, and the place where it is written."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.errors import UsageError
from kgitops.model.registry import Owner, RegistryState
from kgitops.model.source import Source
from kgitops.model.wording import nearest
from kgitops.workflow.explained_values import ExplainedValue, explained_values, recorded_values
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

_MOST_BELOW = 20
_SHOWN = 5


class ExplainedObject(Struct, frozen=True, kw_only=True):
    """An object with its values, as it is declared for one cluster.

    ``source`` is its document; None if only the registry knows it. ``managed``: the project applied
    it before; None if the cluster was not asked.
    """

    address: str
    cluster: str
    source: Source | None
    values: tuple[ExplainedValue, ...]
    managed: bool | None = None


def explain(selection: Selection, address: str, *, applied: bool = False) -> ExplainedObject:
    """Explain the object at ``address``; the cluster is asked only for what was last ``applied``.

    Raises:
        FindingsError: the manifests or policies are wrong.
        UsageError: nothing declares an object of this address, or there is nothing to load.
        UnreachableError: the cluster can't be read.
        SafetyError: its registry can't be trusted.
    """
    workspace = open_workspace(selection)
    with loaded(workspace) as everything:
        objects = {desired.address: desired for desired in everything.desired.objects}
    desired = objects.get(address)
    if desired is None and not applied:
        raise UsageError(_not_declared(address, list(objects)))
    explained = ExplainedObject(
        address=address,
        cluster=workspace.target_name,
        source=desired.located.source if desired is not None else None,
        values=tuple(explained_values(desired)) if desired is not None else (),
    )
    if not applied:
        return explained
    with workspace.connected() as cluster:
        registry = cluster.read_state().registry
    owner = registry.owners.get(address) if registry else None
    identities = registry.identities_of(workspace.project.identity) if registry else ()
    mine = owner if owner and owner.project in identities and not owner.spent else None
    if desired is None and mine is None:
        raise UsageError(_not_declared(address, list(objects)) + _of_another(owner, registry))
    if mine is None:
        return replace(explained, managed=False)
    recorded = recorded_values(mine.last_applied)
    if desired is None:
        values = (
            ExplainedValue(path=path, value=value, last_applied=value)
            for path, value in recorded.items()
        )
    else:
        values = (
            replace(value, last_applied=recorded.get(value.path)) for value in explained.values
        )
    return replace(explained, values=tuple(values), managed=True)


def _of_another(owner: Owner | None, registry: RegistryState | None) -> str:
    """The project that an object of the cluster belongs to."""
    if owner is None or registry is None or owner.spent:
        return ""
    name = registry.projects.get(owner.project, owner.project)
    return f" (on the cluster it belongs to the project {name})"


def _not_declared(address: str, declared: Sequence[str]) -> str:
    below = sorted(other for other in declared if other.startswith(address))
    if len(below) == 1:
        return f"no document declares {address}; did you mean {below[0]}?"
    if below:
        some = _first(below, _MOST_BELOW)
        return f"{address} is only the beginning of an address; give one of {some}"
    kind = address.partition("/")[0]
    same = [other for other in declared if other.startswith(f"{kind}/")]
    heads = {"/".join(other.split("/")[:2]) for other in same}  # acl/User:shop
    if near := nearest(address, [*heads, *(same or declared)]):
        return f"no document declares {address}; did you mean {near}?"
    # Those of the same kind first.
    alike = sorted(declared, key=lambda other: other.partition("/")[0] != kind)
    known = f"there are {_first(alike, _SHOWN)}" if declared else "there are none"
    return f"no document declares {address}; {known}"


def _first(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
