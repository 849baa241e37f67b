"""Opens and creates a store's file, and checks that it can be used."""

import contextlib
import logging
import os
import shlex
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

from kgitops.cluster.embedded.image.format_versions import FIRST_VERSION, FORMAT_VERSION
from kgitops.cluster.embedded.image.records import Record
from kgitops.cluster.embedded.options import DEFAULT_BUSY_TIMEOUT_MS
from kgitops.cluster.embedded.store.errors import (
    damaged,
    newer_version,
    not_a_store,
    translating_sqlite_errors,
    unusable,
)
from kgitops.cluster.embedded.store.store import START, Store

APPLICATION_ID = 0x6B676974  # "kgit": tells a store from any other SQLite file

_log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE log (
    log_offset INTEGER PRIMARY KEY, timestamp_ms INTEGER NOT NULL, principal TEXT NOT NULL,
    records TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE snapshot (
    log_offset INTEGER PRIMARY KEY, image TEXT NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE registry (
    log_offset INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value TEXT,
    timestamp_ms INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT;
"""


def open_store(path: Path, *, busy_timeout_ms: int = DEFAULT_BUSY_TIMEOUT_MS) -> Store:
    """Open an existing store.

    Raises:
        UnreachableError: it can't be read, or is not a store.
        LockedError: another process holds it.
        SafetyError: a newer kgitops wrote it.
    """
    name = str(path)
    _check_file(path)
    with translating_sqlite_errors(name, busy_timeout_ms):
        connection = _connect(path, busy_timeout_ms)
        try:
            _check_format(connection, name)
        except BaseException:
            connection.close()
            raise
    return Store(connection, name, busy_timeout_ms)


def store_exists(path: Path) -> bool:
    """Return whether there is a file; also True if that can't be seen."""
    try:
        return path.exists()
    except OSError:
        return True


def create_store(path: Path, records: Sequence[Record], *, cluster_id: str, now_ms: int) -> None:
    """Create a store completely, or not at all; one that appeared meanwhile is left as it is.

    It is written under another name and then renamed, so that a file of that name is always a
    complete store: an empty one has lost its content and is never taken for a new one.
    """
    with translating_sqlite_errors(str(path), 0):
        draft = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.unlink(missing_ok=True)
            # SQLite gives its -wal and -shm the mode of the store.
            draft.touch(mode=0o600, exist_ok=False)
            connection = sqlite3.connect(draft, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute("PRAGMA synchronous = FULL")
                _initialize(Store(connection, str(path), 0), records, cluster_id, now_ms)
                connection.execute("PRAGMA journal_mode = WAL")
            _publish(draft, path)
        except OSError as error:
            raise unusable(str(path), _os_reason(error)) from error


def warn_of_wide_mode(path: Path) -> None:
    """Log a warning if other users of this machine can open the store."""
    files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
    try:
        modes = {file: stat.S_IMODE(file.stat().st_mode) for file in files if file.exists()}
    except OSError:
        return  # opening it says why
    wide = [file for file, mode in modes.items() if mode & 0o077]
    if wide and os.name == "posix":
        _log.warning(
            "%s: other users of this machine can read the store (mode %04o) with the keys of "
            "passwords and the records in it; run: chmod 600 %s",
            path,
            modes[wide[0]],
            shlex.join(map(str, wide)),
        )


def memory_store(records: Sequence[Record], *, cluster_id: str, now_ms: int) -> Store:
    """A store that lives as long as it is open."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    store = Store(connection, "in memory", 0)
    _initialize(store, records, cluster_id, now_ms)
    return store


def _initialize(store: Store, records: Sequence[Record], cluster_id: str, now_ms: int) -> None:
    with store.writing():
        for statement in _SCHEMA.strip().split(";\n"):
            store.connection.execute(statement)
        store.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        store.connection.execute(f"PRAGMA user_version = {FIRST_VERSION}")
        store.set_meta("cluster_id", cluster_id)
        store.append(START, records, timestamp_ms=now_ms, principal="")


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
        draft.unlink()
    except FileExistsError:
        draft.unlink()
    except OSError:
        # A file system without hard links: replacing is all it offers.
        if path.exists():
            draft.unlink()
        else:
            draft.rename(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _check_file(path: Path) -> None:
    """Explain cases that SQLite reports as "unable to open", or takes for an empty database."""
    try:
        if path.is_dir():
            raise unusable(str(path), "it is a folder; name a file")
        with path.open("rb") as file:
            if not file.read(1):
                raise damaged(str(path), "the file is empty")
    except OSError as error:
        raise unusable(str(path), _os_reason(error)) from error


def _connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    try:
        return _connect_to(path, "rw", busy_timeout_ms)
    except sqlite3.OperationalError as error:
        code = error.sqlite_errorname
        is_closed_off = code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN"))
        if not is_closed_off or os.access(path, os.W_OK) or _size(Path(f"{path}-wal")):
            raise
        # The file and its folder are not writable, and no WAL waits: it can be read as it is.
        return _connect_to(path, "ro&immutable=1", busy_timeout_ms)


def _connect_to(path: Path, mode: str, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=busy_timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _check_format(connection: sqlite3.Connection, name: str) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise not_a_store(name)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > FORMAT_VERSION:
        raise newer_version(name, version, FORMAT_VERSION)
    if version < FIRST_VERSION:
        raise not_a_store(name)
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise damaged(name, problem.replace("\n", " "))


def _os_reason(error: OSError) -> str:
    return f"{(error.strerror or str(error)).lower()}; check the file and its folder"
