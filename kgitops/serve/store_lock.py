"""A store is served by one process at a time: clients' records and groups have one owner."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kgitops.model.errors import LockedError, UnreachableError


@contextmanager
def served_alone(store: Path | None) -> Iterator[None]:
    """Be the only process that serves the store, within a ``with`` block; None is in memory.

    Other commands may use the store meanwhile. The lock ends with the process, however that ends.

    Raises:
        LockedError: another process serves it.
        UnreachableError: its folder can't be written.
    """
    if store is None:
        yield
        return
    store = store.resolve()
    lock = FileLock(store.with_name(f".{store.name}.serving"))
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout as error:
        raise LockedError(
            f"the store {store} is served by another process already; use that one, end it, or "
            "serve another store"
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreachableError(
            f"the store {store} can't be served: {error.filename or store.parent}: {reason}; "
            "check the file and its folder"
        ) from error
    try:
        yield
    finally:
        lock.release()
