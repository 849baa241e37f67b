"""A folder of a command takes the place of the one before as a whole, or not at all.

A run writes into a private folder beside DIR. In the end DIR is renamed to a name that says whose
it was, and the private folder to DIR: wherever a crash cuts this, ``recover`` finds the old folder
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

from kgitops.fleet.output.places import Contents, Places, check_place
from kgitops.model.errors import KgitopsError, LockedError

_SYNCING = 16
_PATIENCE_S = 10


@contextmanager
def private_folder(directory: Path, contents: Contents) -> Iterator[Path]:
    """A folder for a run whose files go to ``directory``; gone after this block.

    Raises:
        UsageError: ``directory`` is not a place for them.
        LockedError: another run is at it.
        KgitopsError: nothing can be written there.
    """
    places = Places.of(directory)
    check_place(directory, places.result, contents)
    with _alone(places, contents):
        private = _prepared(directory, places, contents)
        try:
            yield private
        finally:
            shutil.rmtree(private, ignore_errors=True)


def put_in_place(
    private: Path, directory: Path, contents: Contents, names: Collection[str]
) -> None:
    """Let the files ``names`` of the private folder be what ``directory`` holds.

    Within the block of ``private_folder``. What else lies there, such as the files of a task that
    was tried twice, is removed.

    Raises:
        KgitopsError: one of the files is missing, or nothing can be written.
        UsageError: someone put something else there meanwhile.
    """
    places = Places.of(directory)
    with written(directory):
        _sweep(private, names)
        _sync(private, names)
        check_place(directory, places.result, contents)
        _swap(private, places)
        for old in places.leftovers():
            shutil.rmtree(old, ignore_errors=True)


def recover(directory: Path, contents: Contents) -> None:
    """Put the old folder back where a run was killed between the two renames.

    Raises:
        LockedError: a run holds the place for longer than a swap takes.
        KgitopsError: it can't be put back.
    """
    places = Places.of(directory)
    if not places.result.exists() and places.old.exists():
        with written(directory), _alone(places, contents, patience_s=_PATIENCE_S):
            _put_back(places)


@contextmanager
def written(directory: Path) -> Iterator[None]:
    """Errors of the file system as one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KgitopsError(
            f"{error.filename or directory} can't be written: {reason}; make room, or choose "
            "another --out"
        ) from error


def _prepared(directory: Path, places: Places, contents: Contents) -> Path:
    """What killed runs left behind is put right, and there is a new private folder."""
    with written(directory):
        _put_back(places)
        mode = check_place(directory, places.result, contents)
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
def _alone(places: Places, contents: Contents, patience_s: float = 0) -> Iterator[None]:
    lock = FileLock(places.lock)
    with written(places.result):
        try:
            lock.acquire(timeout=patience_s)
        except Timeout as error:
            raise LockedError(
                f"another run of {contents.command} writes to {places.result}; wait for it, or "
                "give another --out"
            ) from error
    try:
        yield
    finally:
        lock.release()
