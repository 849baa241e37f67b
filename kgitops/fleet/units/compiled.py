"""Desired rows in Parquet files → what each project declares for each cluster, by names alone."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.fleet.units.data_files import DataFile, data_files
from kgitops.fleet.units.unit import RowsAt
from kgitops.manifests.files import display_name
from kgitops.model.source import Finding

_ADVICE = (
    "give files NAME.parquet, or folders cluster=NAME of Parquet files, as kgitops fleet compile "
    "makes them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """What a project declares for a cluster; ``project`` is None where no folder names it."""

    cluster: str
    project: str | None
    desired: RowsAt
    place: Path
    size: int


@dataclass(slots=True)
class Compiled:
    """What was found; ``complete``: there is nothing else."""

    rows: list[FoundRows] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    complete: bool = True


def find_rows(paths: Sequence[Path]) -> Compiled:
    """The rows below ``paths``; what is wrong is a finding, and nothing is raised."""
    found = Compiled()
    places: dict[tuple[Path, str, str | None], list[DataFile]] = {}
    seen: set[str] = set()
    for path in paths:
        for file in data_files(path, (".parquet",), found.findings, _ADVICE):
            real = os.path.realpath(file.path)
            if real in seen:
                continue
            seen.add(real)
            cluster, place = file.named("cluster")
            project = file.partitions.get("project")
            if not cluster.isprintable() or not cluster or project == "":
                name = "project" if cluster else "cluster"
                problem = f"{display_name(place)} names no {name}"
                found.findings.append(Finding(source=None, problem=problem, advice=_ADVICE))
            else:
                places.setdefault((place, cluster, project), []).append(file)
    found.complete = not found.findings
    found.findings = list(dict.fromkeys(found.findings))
    found.rows = [
        FoundRows(
            cluster=cluster,
            project=project,
            desired=RowsAt(files=tuple(sorted(file.path for file in files)), project=project),
            place=place,
            size=sum(file.size for file in files),
        )
        for (place, cluster, project), files in sorted(
            places.items(), key=lambda item: str(item[0][0])
        )
    ]
    return found
