"""Files that a command writes: whole or not at all, and readable by their owner only."""

import os
from pathlib import Path

from kgitops.model.errors import KgitopsError, UsageError


def check_place(path: Path | None) -> None:
    """Refuse an impossible ``-o`` before any work is done for it.

    Raises:
        UsageError: no file can be written there.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"-o {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}; make it first")
    if not os.access(path if is_special(path) else path.parent, os.W_OK):
        raise UsageError(f"-o {path} can't be written: permission denied; choose another place")


def write_file(path: Path, text: str) -> None:
    """Write a file; a device or a pipe is written to, never replaced.

    Raises:
        KgitopsError: it can't be written.
    """
    try:
        if is_special(path):
            path.write_text(text, encoding="utf-8")
        else:
            _replace(Path(os.path.realpath(path)), text)
    except OSError as error:
        raise KgitopsError(
            f"{path} can't be written: {(error.strerror or str(error)).lower()}; choose another "
            "place with -o"
        ) from error


def is_special(path: Path) -> bool:
    """True of pipes and devices, /dev/stdout too where it leads to a file; /dev/shm is a folder."""
    in_dev = path.parts[:2] == ("/", "dev") and path.parts[2:3] != ("shm",)
    return in_dev or (path.exists() and not path.is_file())


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
