"""The errors of a store's file: one sentence each, with the file's name and advice."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from kgitops.model.errors import KgitopsError, LockedError, SafetyError, UnreachableError


@contextmanager
def translating_sqlite_errors(name: str, busy_timeout_ms: int) -> Iterator[None]:
    """Turn SQLite's errors about the file ``name`` into sentences."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, name, busy_timeout_ms) from error


def damaged(name: str, what: str) -> UnreachableError:
    """The error of a store of which a part can't be read."""
    return UnreachableError(
        f"the embedded cluster's store {name} is damaged ({what}), nothing was changed; "
        "restore it from a copy"
    )


def not_a_store(name: str) -> UnreachableError:
    """The error of a file that is not a store."""
    return UnreachableError(
        f"{name} is not the store of an embedded cluster, nothing was changed; give another file"
    )


def newer_version(name: str, version: int, supported: int) -> SafetyError:
    """The error of a store that was written by a newer kgitops."""
    return SafetyError(
        f"the embedded cluster's store {name} has format version {version}, this kgitops knows "
        f"{supported}; use a newer kgitops"
    )


def unusable(name: str, why: str) -> UnreachableError:
    """The error of a file that can't be opened, read or written at all."""
    return UnreachableError(f"the embedded cluster's store {name} can't be used: {why}")


def _explain(error: sqlite3.Error, name: str, busy_timeout_ms: int) -> KgitopsError:
    # The extended names begin with the primary one: SQLITE_READONLY_DBMOVED, SQLITE_IOERR_WRITE.
    code = getattr(error, "sqlite_errorname", "")
    match code.split("_")[1:2]:
        case ["BUSY"] | ["LOCKED"]:
            return LockedError(
                f"the embedded cluster's store {name} has been locked by another process for "
                f"{busy_timeout_ms / 1000:g} s; wait until that is finished and try again"
            )
        case ["READONLY"]:
            return unusable(name, "it is read-only, nothing was changed; make it writable")
        case ["NOTADB"]:
            return not_a_store(name)
        case ["CORRUPT"]:
            return damaged(name, str(error))
        case ["FULL"]:
            return unusable(name, "the disk is full, nothing was changed; make room")
        case ["IOERR"] if code.endswith("_SHMSIZE"):  # the file beside it can't grow at its opening
            return unusable(name, "the disk is full, nothing was changed; make room")
        case ["CANTOPEN"] | ["PERM"] | ["AUTH"]:
            return unusable(name, f"{error}; check the permissions of the file and its folder")
        case _:
            return unusable(name, f"{error} ({code or type(error).__name__}); check the disk")
