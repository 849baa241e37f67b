"""The limit on the memory of this process; only Linux enforces it."""

import resource
import sys
from pathlib import Path

ENFORCED = sys.platform == "linux"


def limit_memory(more: int) -> None:
    """From now on the process gets ``more`` bytes above what it holds, and then MemoryError."""
    if ENFORCED:
        # The sixth number: private pages of data and stacks, which is what RLIMIT_DATA limits.
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        _set(pages * resource.getpagesize() + more)


def lift_limit() -> None:
    """No limit, for what is not the policies' doing."""
    if ENFORCED:
        _set(resource.RLIM_INFINITY)


def _set(soft: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        soft = hard if soft == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
