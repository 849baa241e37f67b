"""Where a result and what belongs to it lie, and whether DIR may be replaced at all."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgitops.fleet.output.runs import SUMMARY
from kgitops.fleet.output.tables import Table
from kgitops.fleet.tables.partitions import partition_of
from kgitops.model.errors import UsageError

_PRIVATE = 0o700
_TOKEN = re.compile(r"[0-9a-f]{16}")


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


def check_place(directory: Path, result: Path) -> int:
    """Refuse to replace what is not a result, or holds more than one; the folder's permissions.

    Args:
        directory: as the user named it.
        result: the same without links.

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
    if names and SUMMARY not in names:
        raise UsageError(
            f"--out {directory} holds {names[0]} and no {SUMMARY}, so it is no result of kgitops "
            "fleet plan, and is not replaced; name another folder"
        )
    for stranger in _strangers(result):
        raise UsageError(
            f"--out {directory} holds {stranger}, which kgitops fleet plan did not write, and "
            "would be replaced as a whole; move that file away, or name another folder"
        )
    return result.stat().st_mode & 0o7777


def _strangers(result: Path) -> Iterator[Path]:
    """What no run writes, relative to the result."""
    for folder, folders, names in os.walk(result):
        at = Path(folder).relative_to(result)
        for name in sorted((*folders, *names)):
            if not _is_ours(at / name, is_folder=name in folders):
                yield at / name


def _is_ours(path: Path, *, is_folder: bool) -> bool:
    match path.parts:
        case (name,):
            return name in set(Table) if is_folder else name == SUMMARY
        case (_, partition):
            return is_folder and partition_of(partition) is not None
        case (_, _, name):
            return not is_folder and name.endswith(".parquet")
        case _:
            return False
