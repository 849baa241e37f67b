"""The result of ``fleet plan``: its files, and how it replaces the previous one."""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from kgitops.fleet.output import replacing
from kgitops.fleet.output.output_paths import OutputLayout
from kgitops.fleet.output.runs import SUMMARY
from kgitops.fleet.output.tables import Table, write_empty_table
from kgitops.fleet.summary import RunSummary
from kgitops.fleet.summary_json import run_to_text
from kgitops.fleet.units.data_files import partition_of


def run_folder(directory: Path) -> AbstractContextManager[Path]:
    """A private folder for a run whose result goes to ``directory``; gone after this block.

    Raises:
        UsageError: ``directory`` is not a place for results.
        LockedError: another run writes there.
        KgitopsError: nothing can be written there.
    """
    return replacing.private_folder(directory, _RESULT)


def commit(private: Path, directory: Path, run: RunSummary) -> None:
    """Let the run in its private folder be the result; within the block of ``run_folder``.

    Files that the summary does not name, such as those of a task that was retried, are removed.

    Raises:
        KgitopsError: a file that the summary names is missing, or nothing can be written.
        UsageError: someone put something else there meanwhile.
    """
    files = {name for unit in run.units for name in unit.files}
    with replacing.os_errors_explained(directory):
        empty = [write_empty_table(private, name, table) for name, table in _unfilled(run, files)]
        (private / SUMMARY).write_text(run_to_text(run), encoding="utf-8")
    replacing.put_in_place(private, directory, _RESULT, {*files, *empty, SUMMARY})


def recover(directory: Path) -> None:
    """Put the old result back where a run was killed between the two renames.

    Raises:
        LockedError: a run holds the place for longer than a swap takes.
        KgitopsError: it can't be put back.
    """
    replacing.recover(directory, _RESULT)


def _unfilled(run: RunSummary, names: Collection[str]) -> Iterator[tuple[str, Table]]:
    """The tables without any file, each with a cluster of the run."""
    filled = {name.partition("/")[0] for name in names}
    for cluster in run.clusters[:1]:
        yield from ((cluster, table) for table in Table if table not in filled)


def _is_ours(path: Path, is_folder: bool) -> bool:
    match path.parts:
        case (name,):
            return name in set(Table) if is_folder else name == SUMMARY
        case (_, partition):
            return is_folder and partition_of(partition) is not None
        case (_, _, name):
            return not is_folder and name.endswith(".parquet")
        case _:
            return False


_RESULT = OutputLayout(command="kgitops fleet plan", is_ours=_is_ours, mark=SUMMARY)
