"""States of files, by which a gateway sees that one of them is another now."""

from collections.abc import Iterable
from pathlib import Path

FileStates = tuple[tuple[int, ...] | None, ...]
"""The time, size and number of each file; None for one that is not there."""


def file_states(files: Iterable[Path]) -> FileStates:
    """The states of these files, in their order."""
    return tuple(map(_state, files))


def _state(file: Path) -> tuple[int, ...] | None:
    try:
        at = file.stat()
    except OSError:
        return None
    return (at.st_mtime_ns, at.st_size, at.st_ino)
