"""The PATHs of ``--state`` → the saved states of clusters, each with its name."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.fleet.units.data_files import DataFile, data_files
from kgitops.fleet.units.unit import Form, StateAt
from kgitops.manifests.files import display_name
from kgitops.model.source import Finding

_ADVICE = "give files NAME.json or NAME.parquet, or folders cluster=NAME of Parquet files"
_SUFFIXES = (".json", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """The state of ``cluster``; ``place`` is the file or folder, ``size`` its bytes."""

    cluster: str
    at: StateAt
    place: Path
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """All states, in the order of their clusters' names.

    ``disputed`` are clusters that stand in two places: which is meant can't be told, so neither is.
    """

    states: tuple[SavedState, ...] = ()
    disputed: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Place:
    """Files that are one cluster's state."""

    cluster: str
    files: list[DataFile] = field(default_factory=list)


def find_states(paths: Sequence[Path]) -> States:
    """The states below ``paths``; what is wrong is a finding, and nothing is raised."""
    findings: list[Finding] = []
    places: dict[Path, _Place] = {}
    seen: set[str] = set()
    for path in sorted(paths):
        said = len(findings)
        count = 0
        for file in data_files(path, _SUFFIXES, findings, _ADVICE):
            count += 1
            real = os.path.realpath(file.path)
            if real not in seen:
                seen.add(real)
                _take(file, places, findings)
        if count == 0 and said == len(findings):
            problem = f"{display_name(path)} holds no state of a cluster"
            advice = "save states there with kgitops fleet snapshot, or correct the path"
            findings.append(Finding(source=None, problem=problem, advice=advice))
    return _told_apart(places, findings)


def _take(file: DataFile, places: dict[Path, _Place], findings: list[Finding]) -> None:
    name, place = file.named("cluster")
    if file.path.suffix == ".json" and place != file.path:
        problem = f"{display_name(file.path)} is JSON, and a partition holds Parquet files only"
        findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
    elif not name or not name.isprintable():
        problem = f"{display_name(place)} names no cluster"
        findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
    else:
        places.setdefault(place, _Place(name)).files.append(file)


def _told_apart(places: dict[Path, _Place], findings: list[Finding]) -> States:
    by_cluster: dict[str, list[Path]] = {}
    for place, found in places.items():
        by_cluster.setdefault(found.cluster, []).append(place)
    states: list[SavedState] = []
    for cluster, where in sorted(by_cluster.items()):
        if len(where) == 1:
            states.append(_saved(cluster, where[0], places[where[0]].files))
            continue
        first, second = sorted(map(display_name, where))[:2]
        findings.append(
            Finding(
                source=None,
                problem=f"the state of the cluster {cluster} stands in {first} and in {second}",
                advice="give one of them only",
            )
        )
    return States(
        states=tuple(states),
        disputed=frozenset(name for name, where in by_cluster.items() if len(where) > 1),
        findings=tuple(dict.fromkeys(findings)),
    )


def _saved(cluster: str, place: Path, files: list[DataFile]) -> SavedState:
    form = Form.JSON if files[0].path.suffix == ".json" else Form.PARQUET
    return SavedState(
        cluster=cluster,
        at=StateAt(form=form, files=tuple(sorted(file.path for file in files))),
        place=place,
        size=sum(file.size for file in files),
    )
