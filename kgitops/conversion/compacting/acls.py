"""Merges Acl documents: one for all who have the same rights on a resource."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kgitops.conversion.objects import ConvertedFile, DeclaredDocument, SourceObject
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json

_PRINCIPALS = "principals"
_OPERATIONS = "operations"

Spec = Mapping[str, Json]


def merge_acls(file: ConvertedFile) -> ConvertedFile:
    """The file with fewer Acl documents, which grant the same.

    First those of the same principals on the same resource become one, then those of the same
    operations. What has a comment, or a loss, stays as it is.
    """
    objects = _merged(file.objects, _OPERATIONS)
    return replace(file, objects=tuple(_merged(objects, _PRINCIPALS)))


def acl_spec(spec: Spec) -> dict[str, Json]:
    """The spec with ``principals`` as a list, which ``written_spec`` takes back."""
    principals = spec.get(_PRINCIPALS) or [spec["principal"]]
    rest = {key: value for key, value in spec.items() if key not in ("principal", _PRINCIPALS)}
    return {_PRINCIPALS: list(principals), **rest}


def written_spec(spec: Spec) -> dict[str, Json]:
    """The spec as a person writes it: one principal is no list."""
    principals = spec[_PRINCIPALS]
    who = {"principal": principals[0]} if len(principals) == 1 else {_PRINCIPALS: principals}
    return {**who, **{key: value for key, value in spec.items() if key != _PRINCIPALS}}


def _merged(objects: Iterable[SourceObject], field: str) -> list[SourceObject]:
    """The objects, with documents that differ only in ``field`` in the first of them."""
    first: dict[bytes, int] = {}
    merged: list[SourceObject] = []
    for item in objects:
        document = _mergeable(item)
        if document is None:
            merged.append(item)
            continue
        at = first.setdefault(_key(document, field), len(merged))
        if at == len(merged):
            merged.append(item)
            continue
        target = merged[at]
        merged[at] = _with_spec(target, _union(target.documents[0].spec, document.spec, field))
        merged.append(replace(item, documents=(), same_as=target.source))
    return merged


def _mergeable(item: SourceObject) -> DeclaredDocument | None:
    return item.documents[0] if _is_read(item) and not item.comments and not item.losses else None


def _key(document: DeclaredDocument, field: str) -> bytes:
    """Everything but ``field``; the order in a list says nothing."""
    spec = {
        key: sorted(value) if isinstance(value, list) else value
        for key, value in document.spec.items()
        if key != field
    }
    return canonical_json(
        {
            "spec": spec,
            "labels": dict(document.labels),
            "clusters": list(document.clusters),
        }
    )


def _union(spec: Spec, other: Spec, field: str) -> dict[str, Json]:
    return {**spec, field: list(dict.fromkeys([*spec[field], *other[field]]))}


def _with_spec(item: SourceObject, spec: Spec) -> SourceObject:
    return replace(item, documents=(replace(item.documents[0], spec=spec),))


def written_acls(file: ConvertedFile) -> ConvertedFile:
    """The file with the specs of its Acl documents as a person writes them."""
    return replace(
        file,
        objects=tuple(
            _with_spec(item, written_spec(item.documents[0].spec)) if _is_read(item) else item
            for item in file.objects
        ),
    )


def _is_read(item: SourceObject) -> bool:
    """Return whether the object is an Acl whose principals are a list."""
    return (
        len(item.documents) == 1
        and item.documents[0].kind == "Acl"
        and not item.documents[0].text
        and _PRINCIPALS in item.documents[0].spec
    )
