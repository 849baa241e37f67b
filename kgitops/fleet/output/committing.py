"""A run's result takes the place of the one before as a whole, or not at all.

A run writes into a private folder beside DIR. In the end DIR is renamed to a name that says whose
it was, and the private folder to DIR: wherever a crash cuts this, ``recover`` finds the old result
or the new one. A lock beside DIR lets one run at a time do so.
"""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kgitops.fleet.output.files import write_empty
from kgitops.fleet.output.places import Places, check_place
from kgitops.fleet.output.runs import SUMMARY
from kgitops.fleet.output.tables import Table
from kgitops.model.errors import KgitopsError, LockedError
from kgitops.report.fleet.summary import RunSummary
from kgitops.report.fleet.summary_json import run_to_text

_SYNCING = 16
_PATIENCE_S = 10


@contextmanager
def run_folder(directory: Path) -> Iterator[Path]:
    """A private folder for a run whose result goes to ``directory``; gone after this block.

    Raises:
        UsageError: ``directory`` is not a place for results.
        LockedError: another run is at it.
        KgitopsError: nothing can be written there.
    """
    places = Places.of(directory)
    check_place(directory, places.result)
    with _alone(places):
        private = _prepared(directory, places)
        try:
            yield private
        finally:
            shutil.rmtree(private, ignore_errors=True)


def commit(private: Path, directory: Path, run: RunSummary) -> None:
    """Let the run in its private folder be the result; within the block of ``run_folder``.

    What the summary does not name, such as the files of a task that was tried twice, is removed.

    Raises:
        KgitopsError: a file that the summary names is missing, or nothing can be written.
    """
    places = Places.of(directory)
    keep = {name for unit in run.units for name in unit.files}
    with _written(directory):
        _sweep(private, keep)
        empty = [write_empty(private, name, table) for name, table in _unfilled(run, keep)]
        (private / SUMMARY).write_text(run_to_text(run), encoding="utf-8")
        _sync(private, [*keep, *empty, SUMMARY])
        # Someone may have put something there while the run went on.
        check_place(directory, places.result)
        _swap(private, places)
        for old in places.leftovers():
            shutil.rmtree(old, ignore_errors=True)


def recover(directory: Path) -> None:
    """Put the old result back where a run was killed between the two renames.

    Raises:
        LockedError: a run holds the place for longer than a swap takes.
        KgitopsError: it can't be put back.
    """
    places = Places.of(directory)
    if not places.result.exists() and places.old.exists():
        with _written(directory), _alone(places, patience_s=_PATIENCE_S):
            _put_back(places)


def _prepared(directory: Path, places: Places) -> Path:
    """What killed runs left behind is put right, and there is a new private folder."""
    with _written(directory):
        _put_back(places)
        mode = check_place(directory, places.result)
        for leftover in places.leftovers():
            shutil.rmtree(leftover)
        private = places.private(secrets.token_hex(8))
        private.mkdir(mode=0o700)
        private.chmod(mode)
    return private


def _swap(private: Path, places: Places) -> None:
    try:
        if places.result.exists():
            places.result.rename(places.old)
        private.rename(places.result)
    except BaseException:
        _put_back(places)
        raise
    _sync_one(places.parent)
    # What is about to be removed is never mistaken for a whole result.
    _discard_old(places)


def _put_back(places: Places) -> None:
    """The old result is in place again, or on its way to be removed where there is a new one."""
    if not places.old.exists():
        return
    if places.result.exists():
        _discard_old(places)
    else:
        places.old.rename(places.result)
        _sync_one(places.parent)


def _discard_old(places: Places) -> None:
    if places.old.exists():
        places.old.rename(places.private(secrets.token_hex(8)))


def _sweep(private: Path, keep: Collection[str]) -> None:
    """Leave only the files to keep, and no folder without one."""
    missing = set(keep)
    for folder, _, names in os.walk(private, topdown=False):
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(private).as_posix()
            if relative in keep:
                missing.discard(relative)
            else:
                path.unlink()
        if Path(folder) != private:
            with suppress(OSError):
                Path(folder).rmdir()  # stays where something is in it
    if missing:
        raise KgitopsError(
            f"{min(missing)} of the run is missing, as if executors wrote to another file "
            "system than this one; give --out on one that all of them share"
        )


def _unfilled(run: RunSummary, names: Collection[str]) -> Iterator[tuple[str, Table]]:
    """The tables without any file, each with a cluster of the run."""
    filled = {name.partition("/")[0] for name in names}
    for cluster in run.clusters[:1]:
        yield from ((cluster, table) for table in Table if table not in filled)


def _sync(private: Path, names: Collection[str]) -> None:
    """All is on the disk before anything is renamed: many at a time, as each waits for it."""
    with ThreadPoolExecutor(_SYNCING) as threads:
        files = [private / name for name in names]
        folders = {folder for file in files for folder in file.parents}
        within = [folder for folder in folders if folder.is_relative_to(private)]
        list(threads.map(_sync_one, [*files, *within]))  # the list raises what a thread did


def _sync_one(path: Path) -> None:
    """A file or a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _alone(places: Places, patience_s: float = 0) -> Iterator[None]:
    lock = FileLock(places.lock)
    with _written(places.result):
        try:
            lock.acquire(timeout=patience_s)
        except Timeout as error:
            raise LockedError(
                f"another run of kgitops fleet plan writes to {places.result}; wait for it, or "
                "give another --out"
            ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _written(directory: Path) -> Iterator[None]:
    """Errors of the file system as one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KgitopsError(
            f"{error.filename or directory} can't be written: {reason}; make room, or choose "
            "another --out"
        ) from error
