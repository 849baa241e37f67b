"""Clusters that documents are for, and whose address the source does not tell."""

import re

from msgspec.structs import replace

from kgitops.conversion.objects import Conversion, ConvertedCluster, Loss, SourceObject


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
