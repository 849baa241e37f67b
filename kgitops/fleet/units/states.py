"""The PATHs of ``--state`` and ``--snapshot`` → the saved states of clusters, by their names."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from kgitops.fleet.units.data_files import DataFile, data_files, partition_of
from kgitops.fleet.units.unit import StateFiles, StateFormat
from kgitops.manifests.files import display_name
from kgitops.model.errors import UnreachableError, UsageError
from kgitops.model.source import Finding

_ADVICE = "give files NAME.json or NAME.parquet, or folders cluster=NAME of Parquet files"
_SUFFIXES = (".json", ".parquet")


class SavedState(Struct, frozen=True, kw_only=True):
    """The state of ``cluster``; ``place`` is the file or folder, ``size`` its bytes."""

    cluster: str
    at: StateFiles
    place: Path
    size: int


class SavedStates(Struct, frozen=True, kw_only=True):
    """All states, in the order of their clusters' names.

    ``disputed`` are clusters with states in two places: neither is taken, as either may be meant.
    """

    states: tuple[SavedState, ...] = ()
    disputed: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()


class _StateFolder(Struct):
    """Files that are one cluster's state."""

    cluster: str
    files: list[DataFile] = field(default_factory=list)


def find_states(paths: Sequence[Path]) -> SavedStates:
    """Find the states below ``paths``; mistakes become findings, and nothing is raised."""
    findings: list[Finding] = []
    places: dict[Path, _StateFolder] = {}
    seen: set[str] = set()
    for path in sorted(paths):
        findings_before = len(findings)
        count = 0
        for file in data_files(path, _SUFFIXES, findings, _ADVICE):
            count += 1
            real = os.path.realpath(file.path)
            if real not in seen:
                seen.add(real)
                _add_file(file, places, findings)
        if count == 0 and findings_before == len(findings):
            problem = f"{display_name(path)} holds no state of a cluster"
            advice = "save states there with kgitops fleet snapshot, or correct the path"
            findings.append(Finding(source=None, problem=problem, advice=advice))
    return _one_per_cluster(places, findings)


def _add_file(file: DataFile, places: dict[Path, _StateFolder], findings: list[Finding]) -> None:
    name, place = file.named("cluster")
    if file.path.suffix == ".json" and place != file.path:
        problem = f"{display_name(file.path)} is JSON, and a partition holds Parquet files only"
        findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
    elif not name or not name.isprintable():
        problem = f"{display_name(place)} names no cluster"
        findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
    else:
        places.setdefault(place, _StateFolder(name)).files.append(file)


def _one_per_cluster(places: dict[Path, _StateFolder], findings: list[Finding]) -> SavedStates:
    by_cluster: dict[str, list[Path]] = {}
    for place, folder in places.items():
        by_cluster.setdefault(folder.cluster, []).append(place)
    states: list[SavedState] = []
    for cluster, where in sorted(by_cluster.items()):
        if len(where) == 1:
            states.append(_saved(cluster, where[0], places[where[0]].files))
            continue
        first, second = sorted(map(display_name, where))[:2]
        findings.append(
            Finding(
                source=None,
                problem=f"the state of the cluster {cluster} is in {first} and in {second}",
                advice="give one of them only",
            )
        )
    return SavedStates(
        states=tuple(states),
        disputed=frozenset(name for name, where in by_cluster.items() if len(where) > 1),
        findings=tuple(dict.fromkeys(findings)),
    )


def _saved(cluster: str, place: Path, files: list[DataFile]) -> SavedState:
    form = StateFormat.JSON if files[0].path.suffix == ".json" else StateFormat.PARQUET
    return SavedState(
        cluster=cluster,
        at=StateFiles(form=form, files=tuple(sorted(file.path for file in files))),
        place=place,
        size=sum(file.size for file in files),
    )


_ONE_STATE_ADVICE = "give one FILE.parquet, or a folder cluster=NAME of Parquet files"


def find_state_files(path: Path) -> tuple[list[Path], str]:
    """The Parquet files of the one state at ``path``, and its cluster's name.

    Raises:
        UnreachableError: there is nothing to read, or something that can't belong to a state.
        UsageError: it holds the states of several clusters.
    """
    findings: list[Finding] = []
    files = list(data_files(path, (".parquet",), findings, _ONE_STATE_ADVICE))
    if findings:
        problem, advice = findings[0].problem, findings[0].advice
        raise UnreachableError(f"the snapshot {path} can't be read: {problem}; {advice}")
    if not files:
        raise UnreachableError(
            f"the snapshot {path} can't be read: it is empty; {_ONE_STATE_ADVICE}"
        )
    names = sorted({file.partitions.get("cluster", "") for file in files})
    if len(names) > 1:
        raise UsageError(
            f"--snapshot {path} holds the states of {len(names)} clusters; name the folder of one, "
            f"such as {path / f'cluster={names[-1]}'}"
        )
    partition = partition_of(path.absolute().name)
    name = names[0] or (partition[1] if partition else path.stem)
    return [file.path for file in files], name
