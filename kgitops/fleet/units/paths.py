"""The PATHs of a command line: checked, and those of ``--desired`` classified by their content."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from kgitops.fleet.units.data_files import is_passed_over
from kgitops.manifests.files import display_name
from kgitops.model.errors import UsageError
from kgitops.model.source import Finding
from kgitops.workflow.project.project_root import holds_project


class DesiredPaths(Struct, kw_only=True):
    """The PATHs by content: whole projects, standalone manifests, rows in Parquet; each by name."""

    projects: list[Path] = field(default_factory=list)
    standalone_manifests: list[Path] = field(default_factory=list)
    rows: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def classify_paths(paths: Sequence[Path]) -> DesiredPaths:
    """Classify each PATH by its content; a path that is given twice counts once."""
    classified = DesiredPaths()
    seen: set[str] = set()
    for path in sorted(paths):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        if not os.path.lexists(path):
            problem = f"{display_name(path)} does not exist"
            classified.findings.append(
                Finding(source=None, problem=problem, advice="correct the path")
            )
        elif path.is_dir() and holds_project(path):
            classified.projects.append(path)
        elif _holds_rows(path):
            classified.rows.append(path)
        else:
            classified.standalone_manifests.append(path)
    return classified


def task_path(path: Path) -> str:
    """Return the absolute path as tasks are given it.

    Raises:
        UsageError: its name is not UTF-8.
    """
    text = str(path.absolute())
    if not is_text(path):
        raise UsageError(f"the path {text} is not UTF-8, so no task can be given it; rename it")
    return text


def is_text(path: Path) -> bool:
    """Return whether the path is UTF-8, as all that is handed to a task must be."""
    return os.fsencode(path) == str(path).encode(errors="ignore")


def bytes_below(paths: Sequence[Path]) -> int:
    """The size of the files below ``paths`` in bytes, as an estimate of their work."""
    total = 0
    for path in paths:
        try:
            if not path.is_dir():
                total += path.stat().st_size
                continue
        except OSError:
            continue  # reading it reports the error
        for folder, _, names in os.walk(path):
            total += sum(_size(os.path.join(folder, name)) for name in names)  # noqa: PTH118
    return total


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 (a Path for each of many files is slow)
    except OSError:
        return 0


def _holds_rows(path: Path) -> bool:
    """True for a Parquet file, and for a folder with one anywhere below."""
    if not path.is_dir():
        return path.suffix == ".parquet"
    for _, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not is_passed_over(name)]
        if any(name.endswith(".parquet") and not is_passed_over(name) for name in names):
            return True
    return False


def check_plan_paths(
    desired: Sequence[Path], state: Sequence[Path], policies: Sequence[Path], out: Path
) -> None:
    """Refuse missing paths, and a result that the next run would read as its own input.

    Raises:
        UsageError: a PATH does not exist, or ``out`` lies in one.
    """
    check_paths_exist((*desired, *state, *policies))
    result = Path(os.path.realpath(out))
    # Of a project only its manifests are read.
    for path in (*(path for path in desired if not holds_project(path)), *state):
        if result.is_relative_to(os.path.realpath(path)):
            raise UsageError(f"--out {out} lies in {path}, which is read; name a folder next to it")


def check_paths_exist(paths: Iterable[Path]) -> None:
    """Refuse missing paths.

    Raises:
        UsageError: a PATH does not exist.
    """
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110 (a circular link is not an error there)
            raise UsageError(f"{path} does not exist; correct the path")
