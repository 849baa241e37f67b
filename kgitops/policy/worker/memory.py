"""The limit on the memory of this process; only Linux enforces it."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENFORCED = sys.platform == "linux"


def limit_memory(more: int) -> None:
    """From now on the process gets ``more`` bytes above what it holds, and then MemoryError."""
    if ENFORCED:
        _set(_held() + more)


def lift_limit() -> None:
    """No limit, for what is not the policies' doing."""
    if ENFORCED:
        _set(resource.RLIM_INFINITY)


@contextmanager
def above_limit() -> Iterator[None]:
    """What the process takes meanwhile comes on top of its limit."""
    if not ENFORCED:
        yield
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    before = _held()
    lift_limit()
    try:
        yield
    finally:
        if soft != resource.RLIM_INFINITY:
            _set(soft + max(0, _held() - before))


def _held() -> int:
    # The sixth number: private pages of data and stacks, which is what RLIMIT_DATA limits.
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()


def _set(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
