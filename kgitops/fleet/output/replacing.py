"""Replaces a command's folder DIR as a whole, or not at all.

A run writes into a private folder next to DIR. In the end DIR is renamed to a name of its own, and
the private folder to DIR: wherever a crash interrupts this, ``recover`` finds the old folder or the
new one. A lock next to DIR lets one run at a time do so.
"""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from kgitops.fleet.output.output_paths import OutputLayout, OutputPaths, check_place
from kgitops.model.errors import KgitopsError, LockedError

_SYNCING = 16
_LOCK_WAIT_S = 10


@contextmanager
def private_folder(directory: Path, layout: OutputLayout) -> Iterator[Path]:
    """A folder for a run whose files go to ``directory``; gone after this block.

    Raises:
        UsageError: ``directory`` is not a place for them.
        LockedError: another run writes there.
        KgitopsError: nothing can be written there.
    """
    paths = OutputPaths.of(directory)
    check_place(directory, paths.result, layout)
    with _locked(paths, layout):
        private = _prepared(directory, paths, layout)
        try:
            yield private
        finally:
            shutil.rmtree(private, ignore_errors=True)


def put_in_place(
    private: Path, directory: Path, layout: OutputLayout, names: Collection[str]
) -> None:
    """Let the files ``names`` of the private folder be what ``directory`` holds.

    Within the block of ``private_folder``. Other files there, such as those of a task that was
    retried, are removed.

    Raises:
        KgitopsError: one of the files is missing, or nothing can be written.
        UsageError: someone put something else there meanwhile.
    """
    paths = OutputPaths.of(directory)
    with os_errors_explained(directory):
        _remove_others(private, names)
        _sync(private, names)
        check_place(directory, paths.result, layout)
        _swap(private, paths)
        for old in paths.stale_folders():
            shutil.rmtree(old, ignore_errors=True)


def recover(directory: Path, layout: OutputLayout) -> None:
    """Put the old folder back where a run was killed between the two renames.

    Raises:
        LockedError: a run holds the place for longer than a swap takes.
        KgitopsError: it can't be put back.
    """
    paths = OutputPaths.of(directory)
    if not paths.result.exists() and paths.old.exists():
        with os_errors_explained(directory), _locked(paths, layout, wait_s=_LOCK_WAIT_S):
            _put_back(paths)


@contextmanager
def os_errors_explained(directory: Path) -> Iterator[None]:
    """Turn errors of the file system into one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KgitopsError(
            f"{error.filename or directory} can't be written: {reason}; make room, or choose "
            "another --out"
        ) from error


def _prepared(directory: Path, paths: OutputPaths, layout: OutputLayout) -> Path:
    """Clean up after killed runs, and make a new private folder."""
    with os_errors_explained(directory):
        _put_back(paths)
        mode = check_place(directory, paths.result, layout)
        for folder in paths.stale_folders():
            shutil.rmtree(folder)
        private = paths.private(secrets.token_hex(8))
        private.mkdir(mode=0o700)
        private.chmod(mode)
    return private


def _swap(private: Path, paths: OutputPaths) -> None:
    try:
        if paths.result.exists():
            paths.result.rename(paths.old)
        private.rename(paths.result)
    except BaseException:
        _put_back(paths)
        raise
    _sync_one(paths.parent)
    # A folder that is being removed is never mistaken for a whole result.
    _discard_old(paths)


def _put_back(paths: OutputPaths) -> None:
    """Put the old result in place again, or remove it if there is a new one."""
    if not paths.old.exists():
        return
    if paths.result.exists():
        _discard_old(paths)
    else:
        paths.old.rename(paths.result)
        _sync_one(paths.parent)


def _discard_old(paths: OutputPaths) -> None:
    if paths.old.exists():
        paths.old.rename(paths.private(secrets.token_hex(8)))


def _remove_others(private: Path, keep: Collection[str]) -> None:
    """Remove all files but those to keep, and empty folders."""
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
    """Flush everything to the disk before the rename: many files at a time, as each one waits."""
    with ThreadPoolExecutor(_SYNCING) as threads:
        files = [private / name for name in names]
        folders = {folder for file in files for folder in file.parents}
        within = [folder for folder in folders if folder.is_relative_to(private)]
        list(threads.map(_sync_one, [*files, *within]))  # the list raises what a thread did


def _sync_one(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _locked(paths: OutputPaths, layout: OutputLayout, wait_s: float = 0) -> Iterator[None]:
    lock = FileLock(paths.lock)
    with os_errors_explained(paths.result):
        try:
            lock.acquire(timeout=wait_s)
        except Timeout as error:
            raise LockedError(
                f"another run of {layout.command} writes to {paths.result}; wait for it, or "
                "give another --out"
            ) from error
    try:
        yield
    finally:
        lock.release()
