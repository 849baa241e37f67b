"""Reads runs from disk: one of them, or a folder of many."""

import re
from pathlib import Path

from kgitops.fleet.summary import History, RunSummary
from kgitops.fleet.summary_json import read_run
from kgitops.model.errors import UntrustedPlanError, UsageError

SUMMARY = "fleet.json"
"""The file of a run's folder that holds its summary."""
MOST_RUNS = 90
"""The most runs of a folder that are read, the newest."""

_BEGINNING = re.compile(rb'\{"created":"([0-9TZ:-]{20})"')
_LAST = "~"
_NEXT = "name a folder that kgitops fleet plan --out wrote, or a folder of those"


def read_history(directory: Path) -> History:
    """The run in a folder, or those in its sub-folders, the oldest first.

    Raises:
        UsageError: there is no run, or it can't be read.
        UntrustedPlanError: one that should be read is damaged, or of another version.
    """
    folders = _runs(directory)
    shown = folders[-MOST_RUNS:]
    return History(
        runs=tuple(_read(folder / SUMMARY) for folder in shown),
        left_out=len(folders) - len(shown),
    )


def newest_run(directory: Path) -> Path:
    """The folder of the run that was made last.

    Raises:
        UsageError: there is no run.
    """
    return _runs(directory)[-1]


def _runs(directory: Path) -> list[Path]:
    """The folders of all runs, the oldest first; of one moment by name."""
    try:
        if (directory / SUMMARY).is_file():
            return [directory]
        below = [path for path in directory.iterdir() if not path.name.startswith(".")]
        runs = [path for path in below if (path / SUMMARY).is_file()]
        ordered = sorted(runs, key=lambda path: (_created(path / SUMMARY), path.name))
    except OSError as error:
        raise _unreadable(directory, error) from error
    if not ordered:
        raise UsageError(f"{directory} holds no {SUMMARY}, and no folder in it does; {_NEXT}")
    return ordered


def _created(file: Path) -> str:
    """The moment of the run, by the file's beginning alone: there may be years of runs.

    A file with another beginning is taken for the newest, so that it is read, and refused.
    """
    with file.open("rb") as opened:
        beginning = _BEGINNING.match(opened.read(64))
    return beginning[1].decode() if beginning else _LAST


def _read(file: Path) -> RunSummary:
    try:
        content = file.read_text(encoding="utf-8")
    except OSError as error:
        raise _unreadable(file, error) from error
    except UnicodeDecodeError as error:
        raise UntrustedPlanError(
            f"{file} is not UTF-8; make it again with kgitops fleet plan --out"
        ) from error
    return read_run(content, str(file))


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} can't be read: {(error.strerror or str(error)).lower()}; {_NEXT}")
