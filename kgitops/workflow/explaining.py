"""Explains a declared object: each of its values, and the place where it is written."""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.state import DesiredObject
from kgitops.manifests.expanded import ExpandedDocument
from kgitops.manifests.problems import suggestion
from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.errors import UsageError
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.plan.normal_form import last_applied
from kgitops.workflow.loading import loaded
from kgitops.workflow.project.selection import Selection, open_workspace

# Parts of the normal form that are the object's identity, or follow from another value.
_NO_VALUE = frozenset({"kind", "name", "deletionPolicyWritten", "virtualCluster"})
# Written under another name than the normal form has.
_WRITTEN_AS = {"operation": "operations"}
_SHOWN = 5


class ExplainedValue(Struct, frozen=True, kw_only=True):
    """One value; ``origin`` is None if the object's own document holds it.

    ``source`` is the place where it is written; None if it is kgitops's default. ``last_applied``
    is the value that the registry recorded, None where it recorded none or was not asked.
    """

    path: str
    value: Json
    origin: ValueOrigin | None
    source: Source | None
    last_applied: Json = None


class ExplainedObject(Struct, frozen=True, kw_only=True):
    """An object with its values, as it is declared for one cluster.

    ``managed``: the project applied it before; None if the cluster was not asked.
    """

    address: str
    cluster: str
    source: Source
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
    if desired is None:
        raise UsageError(_not_declared(address, list(objects)))
    explained = ExplainedObject(
        address=address,
        cluster=workspace.target_name,
        source=desired.located.source,
        values=tuple(_values(desired)),
    )
    if not applied:
        return explained
    with workspace.connected() as cluster:
        registry = cluster.read_state().registry
    owner = registry.owners.get(address) if registry else None
    if owner is None or owner.project != workspace.project.identity:
        return replace(explained, managed=False)
    recorded = dict(_flat(owner.last_applied))
    values = (replace(value, last_applied=recorded.get(value.path)) for value in explained.values)
    return replace(explained, values=tuple(values), managed=True)


def _flat(form: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """The values of a recorded object by the paths of an explained one."""
    for key, value in form.items():
        if isinstance(value, Mapping) and key in ("configs", "quotas"):
            yield from ((f"{key}.{name}", one) for name, one in value.items())
        else:
            yield _WRITTEN_AS.get(key, key), value


def _not_declared(address: str, declared: list[str]) -> str:
    near = suggestion(address, declared)
    if near:
        return f"no document declares {address}; did you mean {near}?"
    shown = ", ".join(declared[:_SHOWN])
    more = f" and {len(declared) - _SHOWN:,} more" if len(declared) > _SHOWN else ""
    known = f"there are {shown}{more}" if declared else "there are none"
    return f"no document declares {address}; {known}"


def _values(desired: DesiredObject) -> Iterator[ExplainedValue]:
    form = last_applied(desired)
    for key, value in form.items():
        if key in _NO_VALUE or value is None or value in ({}, []):
            continue
        if isinstance(value, Mapping) and key in ("configs", "quotas"):
            for name, one in value.items():
                yield _value(desired, one, "spec", key, name)
        else:
            yield _value(desired, value, "spec", _WRITTEN_AS.get(key, key))
    for name, text in desired.labels.items():
        yield _value(desired, text, "metadata", "labels", name)


def _value(desired: DesiredObject, value: Json, *path: str) -> ExplainedValue:
    document = desired.located
    given = document.given_at(path) if isinstance(document, ExpandedDocument) else None
    place = document.at(*path)
    # The nearest parent's place stands for a value that nobody wrote.
    written = given is not None or place != document.at(*path[:-1])
    return ExplainedValue(
        path=".".join(path[1:]),
        value=value,
        origin=given.origin if given is not None else None,
        source=place if written else None,
    )
