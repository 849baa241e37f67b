"""Explains an object: each of its values, and the place where it is written."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kgitops.manifests.expanded import ExpandedDocument, ExpandedPart, Path
from kgitops.manifests.kind_models import kind_class
from kgitops.manifests.value_origin import ValueOrigin, dotted
from kgitops.manifests.yaml.document import DocumentPart
from kgitops.model.errors import UsageError
from kgitops.model.json.declared import DesiredObject, last_applied
from kgitops.model.registry import Json, Owner, RegistryState
from kgitops.model.source import Located, Source
from kgitops.model.wording import nearest
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

# Parts of the normal form that are the object's identity, or follow from another value.
_NO_VALUE = frozenset({"kind", "name", "deletionPolicyWritten", "virtualCluster"})
_OF_MEMBERS = frozenset({"type"})
# Maps that are one value; the values of others are shown apart.
_WHOLE = frozenset({"deleteRecordsBefore", "entity", "origin", "resetOffsets", "scram", "target"})


class ExplainedValue(Struct, frozen=True, kw_only=True):
    """One value; ``origin`` is None if the object's own document holds it.

    ``source`` is the place where it is written; None if it is kgitops's default. ``last_applied``
    is the value that the registry recorded, None where it recorded none or was not asked. A value
    of None is one that the document removes: ``source`` is then the place of the null.
    """

    path: str
    value: Json
    origin: ValueOrigin | None = None
    source: Source | None = None
    last_applied: Json = None


def explained_values(desired: DesiredObject) -> Iterator[ExplainedValue]:
    """The values of a declared object, and its labels."""
    of_kind = kind_class(desired.kind)
    for steps, value in _flat(last_applied(desired)):
        yield _value(desired, value, steps, *of_kind.written_at(desired, steps))
    yield from _removed(desired.located)
    for name, text in desired.labels.items():
        yield _value(desired, text, ("labels", name), ("metadata", "labels", name))


def _removed(located: Located) -> Iterator[ExplainedValue]:
    """The values from elsewhere that the document removes by null."""
    if isinstance(located, ExpandedDocument):
        for path in located.removed:
            name = dotted(*path[1:])
            origin, source = located.origins[name], located.at(*path)
            yield ExplainedValue(path=name, value=None, origin=origin, source=source)


def recorded_values(form: Mapping[str, Json]) -> dict[str, Json]:
    """The values of a recorded object, by the paths of explained ones."""
    return {".".join(steps): value for steps, value in _flat(form)}


def _flat(form: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], Json]]:
    left_out = _NO_VALUE | _OF_MEMBERS if "copyOffsets" in form else _NO_VALUE
    for key, value in form.items():
        if key in left_out or value is None or value in ({}, []):
            continue
        if isinstance(value, Mapping) and key not in _WHOLE:
            yield from (((key, name), one) for name, one in value.items())
        else:
            # A document may list several operations.
            yield ("operations" if key == "operation" else key,), value


def _value(
    desired: DesiredObject, value: Json, steps: tuple[str, ...], *paths: Path
) -> ExplainedValue:
    located: Located = desired.located
    if steps[0] == "labels" and isinstance(located, DocumentPart):
        # A list's items have the labels of the document.
        located = located.expanded if isinstance(located, ExpandedPart) else located.document
    for path in paths:
        given = located.given_at(path) if isinstance(located, ExpandedDocument) else None
        place = located.at(*path)
        # The nearest parent's place stands for a value that nobody wrote.
        if given is not None or place != located.at(*path[:-1]):
            return ExplainedValue(
                path=".".join(steps),
                value=value,
                origin=given.origin if given is not None else None,
                source=place,
            )
    return ExplainedValue(path=".".join(steps), value=value)


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
