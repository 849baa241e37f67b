"""Puts a converted project in place: all of its files, or none."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kgitops.model.errors import KgitopsError


def put_project(files: Mapping[str, str], folder: Path) -> None:
    """Write the files beside ``folder``, which is new or empty, and rename them to it.

    Raises:
        KgitopsError: they can't be written; ``folder`` is as it was.
    """
    parent = folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        private = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    except OSError as error:
        raise _not_written(folder, error) from error
    try:
        for path, text in files.items():
            (private / path).parent.mkdir(parents=True, exist_ok=True)
            (private / path).write_text(text, encoding="utf-8")
        private.chmod(0o755)
        if folder.is_dir():
            folder.rmdir()  # fails if somebody put something there meanwhile
        private.rename(folder)
    except OSError as error:
        shutil.rmtree(private, ignore_errors=True)
        raise _not_written(folder, error) from error


def _not_written(folder: Path, error: OSError) -> KgitopsError:
    reason = (error.strerror or str(error)).lower()
    return KgitopsError(f"{folder} can't be written: {reason}; name another folder")
