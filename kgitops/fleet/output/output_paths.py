"""The paths next to a command's DIR, and the check that DIR may be replaced."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from kgitops.model.errors import UsageError

_PRIVATE = 0o700
_TOKEN = re.compile(r"[0-9a-f]{16}")


class OutputLayout(Struct, frozen=True, kw_only=True):
    """The files that ``command`` writes into its DIR: nothing else is ever replaced.

    ``is_ours`` takes each path relative to DIR, and true for a folder. Every DIR of the command
    holds the file ``mark``, if it has one.
    """

    command: str
    is_ours: Callable[[Path, bool], bool]
    mark: str | None = None


class OutputPaths(Struct, frozen=True, kw_only=True):
    """DIR itself, and the hidden files and folders next to it that belong to it."""

    result: Path

    @classmethod
    def of(cls, directory: Path) -> "OutputPaths":
        """The paths of a DIR as the user wrote it; a link is resolved."""
        return cls(result=Path(os.path.realpath(directory)))

    @property
    def parent(self) -> Path:
        """The folder in which all of them lie."""
        return self.result.parent

    @property
    def lock(self) -> Path:
        """The lock of the run that writes there."""
        return self.parent / f".{self.result.name}.kgitops-lock"

    @property
    def old(self) -> Path:
        """The previous result while it is being replaced. Always a whole one."""
        return self.parent / f".{self.result.name}.kgitops-old"

    def private(self, token: str) -> Path:
        """A run's folder, or one on its way to be removed."""
        return self.parent / f".{self.result.name}.kgitops-run-{token}"

    def stale_folders(self) -> Iterator[Path]:
        """Private folders of runs that were killed; the lock's holder may remove them."""
        prefix = self.private("").name
        for path in list(self.parent.iterdir()):
            token = path.name.removeprefix(prefix)
            if token != path.name and _TOKEN.fullmatch(token):
                yield path


def check_place(directory: Path, result: Path, layout: OutputLayout) -> int:
    """Refuse to replace files of others; return the permissions that DIR must have.

    Args:
        directory: as the user named it.
        result: the same without links.
        layout: the files that it may hold.

    Raises:
        UsageError: nothing can be put there without a loss.
    """
    if Path.cwd().is_relative_to(result):
        raise UsageError(f"--out {directory} is the folder you are in; name a folder in it")
    if not result.parent.is_dir():
        raise UsageError(f"--out {directory}: there is no folder {result.parent}; make it first")
    if not result.exists():
        return _PRIVATE
    if not result.is_dir():
        raise UsageError(f"--out {directory} is a file; name a folder")
    if result.stat().st_dev != result.parent.stat().st_dev:
        raise UsageError(f"--out {directory} is where a file system begins; name a folder in it")
    names = sorted(path.name for path in result.iterdir())
    if layout.mark and names and layout.mark not in names:
        raise UsageError(
            f"--out {directory} holds {names[0]} and no {layout.mark}, so it is not a result of "
            f"{layout.command}, and is not replaced; name another folder"
        )
    for foreign in _foreign_files(result, layout):
        raise UsageError(
            f"--out {directory} holds {foreign}, which {layout.command} did not write, and "
            "would be replaced as a whole; move that file away, or name another folder"
        )
    return result.stat().st_mode & 0o7777


def _foreign_files(result: Path, layout: OutputLayout) -> Iterator[Path]:
    """The files that the command does not write, relative to the result."""
    for folder, folders, names in os.walk(result):
        at = Path(folder).relative_to(result)
        for name in sorted((*folders, *names)):
            if not layout.is_ours(at / name, name in folders):
                yield at / name
