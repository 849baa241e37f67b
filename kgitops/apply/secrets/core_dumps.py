"""Keeping the memory of a process that reads passwords out of core dumps and other processes."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Let the kernel write no core dump of this process, from now until it ends.

    Python can't erase what it has read, so there is no way back. A limit on the size is not enough
    on Linux, where a handler that takes core dumps by a pipe ignores it. There the second step
    also keeps other processes of the same user from reading this one's memory and environment.
    """
    try:
        import resource  # noqa: PLC0415 (Windows has none, and no core dumps)
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
