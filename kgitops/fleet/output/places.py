"""Where a command's DIR and what belongs to it lie, and whether DIR may be replaced at all."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kgitops.model.errors import UsageError

_PRIVATE = 0o700
_TOKEN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What ``command`` writes into its DIR: nothing else is ever replaced.

    ``is_ours`` is asked about each path relative to DIR, and told whether it is a folder. Where
    there is a ``mark``, every DIR of the command holds this file.
    """

    command: str
    is_ours: Callable[[Path, bool], bool]
    mark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """DIR itself, and beside it, hidden, what belongs to DIR alone."""

    result: Path

    @classmethod
    def of(cls, directory: Path) -> "Places":
        """Of a DIR as the user wrote it; a link stands for what it leads to."""
        return cls(result=Path(os.path.realpath(directory)))

    @property
    def parent(self) -> Path:
        """The folder in which all of them lie."""
        return self.result.parent

    @property
    def lock(self) -> Path:
        """Held by the run that is at it."""
        return self.parent / f".{self.result.name}.kgitops-lock"

    @property
    def old(self) -> Path:
        """The result before, while it is being replaced. Always a whole one."""
        return self.parent / f".{self.result.name}.kgitops-old"

    def private(self, token: str) -> Path:
        """A run's folder, or one on its way to be removed."""
        return self.parent / f".{self.result.name}.kgitops-run-{token}"

    def leftovers(self) -> Iterator[Path]:
        """Private folders of runs that were killed; whoever holds the lock may remove them."""
        prefix = self.private("").name
        for path in list(self.parent.iterdir()):
            token = path.name.removeprefix(prefix)
            if token != path.name and _TOKEN.fullmatch(token):
                yield path


def check_place(directory: Path, result: Path, contents: Contents) -> int:
    """Refuse to replace what the command did not write; the permissions that DIR must have.

    Args:
        directory: as the user named it.
        result: the same without links.
        contents: what it may hold.

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
    if contents.mark and names and contents.mark not in names:
        raise UsageError(
            f"--out {directory} holds {names[0]} and no {contents.mark}, so it is no result of "
            f"{contents.command}, and is not replaced; name another folder"
        )
    for stranger in _strangers(result, contents):
        raise UsageError(
            f"--out {directory} holds {stranger}, which {contents.command} did not write, and "
            "would be replaced as a whole; move that file away, or name another folder"
        )
    return result.stat().st_mode & 0o7777


def _strangers(result: Path, contents: Contents) -> Iterator[Path]:
    """What the command does not write, relative to the result."""
    for folder, folders, names in os.walk(result):
        at = Path(folder).relative_to(result)
        for name in sorted((*folders, *names)):
            if not contents.is_ours(at / name, name in folders):
                yield at / name
