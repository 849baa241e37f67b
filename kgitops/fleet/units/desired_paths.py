"""The PATHs of ``--desired``, told apart: whole projects, loose manifests, rows in Parquet."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.fleet.tables.partitions import is_passed_over
from kgitops.manifests.files import display_name
from kgitops.model.source import Finding
from kgitops.workflow.project.project_root import holds_project


@dataclass(slots=True, kw_only=True)
class DesiredPaths:
    """The PATHs by what they hold, each kind in the order of their names."""

    projects: list[Path] = field(default_factory=list)
    loose: list[Path] = field(default_factory=list)
    rows: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def told_apart(paths: Sequence[Path]) -> DesiredPaths:
    """Look at what each PATH is; the same place is taken once, however often it is given."""
    told = DesiredPaths()
    seen: set[str] = set()
    for path in sorted(paths):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        if not os.path.lexists(path):
            problem = f"{display_name(path)} does not exist"
            told.findings.append(Finding(source=None, problem=problem, advice="correct the path"))
        elif path.is_dir() and holds_project(path):
            told.projects.append(path)
        elif _holds_rows(path):
            told.rows.append(path)
        else:
            told.loose.append(path)
    return told


def bytes_below(paths: Sequence[Path]) -> int:
    """How many bytes the files below ``paths`` have: a guess at the work that they are."""
    total = 0
    for path in paths:
        try:
            if not path.is_dir():
                total += path.stat().st_size
                continue
        except OSError:
            continue  # whoever reads it says so
        for folder, _, names in os.walk(path):
            total += sum(_size(os.path.join(folder, name)) for name in names)  # noqa: PTH118
    return total


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 (a Path for each of many files is slow)
    except OSError:
        return 0


def _holds_rows(path: Path) -> bool:
    """Whether Parquet is meant: a file of it, or a folder with one anywhere below."""
    if not path.is_dir():
        return path.suffix == ".parquet"
    for _, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not is_passed_over(name)]
        if any(name.endswith(".parquet") and not is_passed_over(name) for name in names):
            return True
    return False
