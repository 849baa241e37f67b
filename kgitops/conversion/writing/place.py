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
            _fill(folder, private)
        else:
            private.rename(folder)
    except OSError as error:
        raise _not_written(folder, error) from error
    finally:
        shutil.rmtree(private, ignore_errors=True)  # after an error, or an interruption


def _fill(folder: Path, private: Path) -> None:
    """Move everything into a folder that is there, where somebody may be working; or nothing."""
    if any(folder.iterdir()):
        raise OSError("somebody put something there meanwhile")
    moved: list[Path] = []
    try:
        for entry in sorted(private.iterdir()):
            moved.append(folder / entry.name)
            entry.rename(moved[-1])
    except BaseException:
        for path in moved:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


def _not_written(folder: Path, error: OSError) -> KgitopsError:
    reason = (error.strerror or str(error)).lower()
    return KgitopsError(f"{folder} can't be written: {reason}; name another folder")
