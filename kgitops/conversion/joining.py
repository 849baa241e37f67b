"""Joins what the files declare, and names the clusters that it is for."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.objects import (
    Conversion,
    ConvertedCluster,
    DeclaredDocument,
    Loss,
    SourceObject,
)
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.model.source import Finding, Source


class _Seen(Struct):
    """The declarations so far, by their identity: the place and the content of the first."""

    first: dict[tuple[str, ...], tuple[Source, bytes]] = msgspec.field(default_factory=dict)
    conflicts: list[Finding] = msgspec.field(default_factory=list)


def join(conversion: Conversion) -> tuple[Conversion, tuple[Finding, ...]]:
    """The conversion with each declaration once, and the declarations that contradict each other.

    Bindings that several objects grant stay with the first; an object that is left with none is
    the ``same_as`` that one.
    """
    seen = _Seen()
    files = tuple(
        replace(file, objects=tuple(_joined(item, seen) for item in file.objects))
        for file in conversion.files
    )
    return replace(conversion, files=files), tuple(seen.conflicts)


def _joined(item: SourceObject, seen: _Seen) -> SourceObject:
    documents = []
    same_as = item.same_as
    for document in item.documents:
        kept, first = _first(item, document, seen)
        if kept is not None:
            documents.append(kept)
        same_as = same_as or first
    return replace(item, documents=tuple(documents), same_as=None if documents else same_as)


def _first(
    item: SourceObject, document: DeclaredDocument, seen: _Seen
) -> tuple[DeclaredDocument | None, Source | None]:
    """The part of the document that nothing declared before; and where the rest was declared."""
    if document.text:
        return document, None
    if document.kind == "Acl" and "operations" in document.spec:
        return _new_bindings(item, document, seen)
    key = (document.kind, _identity(document), *document.clusters)
    content = canonical_json({"spec": _plain(document.spec), "labels": dict(document.labels)})
    before = seen.first.setdefault(key, (item.source, content))
    if before[0] == item.source and before[1] is content:
        return document, None
    if before[1] != content:
        seen.conflicts.append(
            Finding(
                source=item.source,
                problem=f"{f'{item.kind} {item.name}'.strip()} is declared differently at "
                f"{before[0]}",
                advice="keep one of the two, or convert their folders one by one",
            )
        )
    return None, before[0]


def _new_bindings(
    item: SourceObject, document: DeclaredDocument, seen: _Seen
) -> tuple[DeclaredDocument | None, Source | None]:
    shared = {key: value for key, value in document.spec.items() if key != "operations"}
    identity = canonical_json(_plain(shared)).decode()
    operations: list[str] = []
    same_as = None
    for operation in document.spec["operations"]:
        key = ("Acl", identity, operation, *document.clusters)
        if key in seen.first:
            same_as = seen.first[key][0]
        else:
            seen.first[key] = (item.source, b"")
            operations.append(operation)
    if not operations:
        return None, same_as
    return replace(document, spec={**document.spec, "operations": operations}), None


def _identity(document: DeclaredDocument) -> str:
    """The object that a document declares: a quota's is its entity."""
    if document.kind == "ClientQuota":
        return canonical_json(_plain(document.spec["entity"])).decode()
    return document.name


def _plain(value: Json) -> Any:  # noqa: ANN401
    """The value as canonical JSON takes it: keys are text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def with_named_clusters(conversion: Conversion) -> Conversion:
    """The conversion with every cluster that a document names; where it is, is a loss if not known.

    Its address is a variable of the environment then: without one no command reaches it.
    """
    known = {cluster.name for cluster in conversion.clusters}
    first: dict[str, SourceObject] = {}
    for item in conversion.objects:
        for document in item.documents:
            for name in document.clusters:
                if name not in known:
                    first.setdefault(name, item)
    if not first:
        return conversion
    named = tuple(
        ConvertedCluster(name=name, bootstrap_servers=f"${{env:{_word(name)}_BOOTSTRAP_SERVERS}}")
        for name in first
    )
    losses: dict[int, list[Loss]] = {}
    for name, item in first.items():
        losses.setdefault(id(item), []).append(_loss(name, item))
    files = tuple(
        replace(
            file,
            objects=tuple(
                replace(item, losses=(*item.losses, *losses.get(id(item), ())))
                for item in file.objects
            ),
        )
        for file in conversion.files
    )
    return replace(conversion, files=files, clusters=(*conversion.clusters, *named))


def _loss(name: str, item: SourceObject) -> Loss:
    return Loss(
        source=item.source,
        problem=f"{item.kind} {item.name} is for the cluster {name}, whose address is not known "
        "here",
        advice=f"convert it together with the file that has it, or write it in kgitops.yaml, where "
        f"{_word(name)}_BOOTSTRAP_SERVERS of the environment stands for it",
    )


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()
