"""One process at a time does what all of them need done once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def alone(what: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file beside ``what``; it is released even if this process is killed."""
    what.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(what.with_name(f"{what.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
