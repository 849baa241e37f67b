"""A folder as the source of manifests, such as a mounted ConfigMap or what git-sync writes."""

import hashlib
import os
import stat
from pathlib import Path

from kgitops.model.errors import KgitopsError, StaleError, UsageError
from kgitops.reconcile.revision import Revision

# Stores, caches and histories change without being declared; names with two dots are those that
# Kubernetes swaps behind the links of a mounted volume.
_LEFT_OUT = (".git", ".kgitops", ".venv", "__pycache__", "node_modules")
_STORE = b"SQLite format 3\0"
_BESIDE_STORES = ("-wal", "-shm", "-journal")
_SWAPPED = ".."
_TRIES = 3


class FolderSource:
    """A folder that is planned where it lies.

    A revision's folder is the folder itself, so it does change: whoever plans from it asks
    ``refresh`` again afterwards, and throws the plan away if the name is another.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most_bytes: int = 256 << 20,
        most_files: int = 20_000,
        left_out: Path | None = None,
    ):
        """Keep the folder. What is below ``left_out`` is not declared: plans that wait there.

        Raises:
            UsageError: there is none.
        """
        if not folder.is_dir():
            raise UsageError(f"{folder} is not a folder; give the folder of a project")
        self._folder = folder
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._left_out = None if left_out is None else os.path.realpath(left_out)

    def refresh(self) -> Revision:
        """Read all files; their digest is the revision's name.

        Raises:
            KgitopsError: they can't be read. An earlier revision's files are gone by then, so there
                is no last good one.
        """
        try:
            name = self._stable_digest()
        except OSError as error:
            raise KgitopsError(
                f"{error.filename or self._folder} can't be read: {error.strerror}; correct its "
                "permissions"
            ) from error
        return Revision(name=name, folder=self._folder, branch=str(self._folder))

    def retain(self, revisions: frozenset[str]) -> None:
        """Do nothing: the folder is the user's."""

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _stable_digest(self) -> str:
        """The digest of the files as two readings in a row found them."""
        before = None
        for left in reversed(range(_TRIES)):
            try:
                digest = self._digest()
            except FileNotFoundError:
                if not left:
                    raise
                before = None  # it may have been swapped while it was read
                continue
            if digest == before:
                return digest
            before = digest
        raise StaleError(f"{self._folder} changes while it is read; it is tried again")

    def _digest(self) -> str:
        whole = hashlib.sha256()
        size = 0
        for files, path in enumerate(_files(self._folder, self._left_out), start=1):
            content = _content(path)
            if not content:
                continue
            size += len(content)
            if files > self._most_files or size > self._most_bytes:
                raise KgitopsError(
                    f"{self._folder} has more than {self._most_files:,} files or "
                    f"{self._most_bytes >> 20:,} MiB; give the folder of the project alone"
                )
            name = str(path.relative_to(self._folder)).encode(errors="surrogateescape")
            whole.update(b"%d %d " % (len(name), len(content)) + name + content)
        return f"sha256:{whole.hexdigest()}"


def _content(path: Path) -> bytes:
    """The content of a file that may declare something; else nothing.

    An embedded cluster is no manifest, and changes with each apply; while it is made, its file is
    empty. A file that vanished since it was found is as one that never was: another reading has to
    find the same.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(_STORE))
            return b"" if start in (b"", _STORE) else start + file.read()
    except FileNotFoundError:
        return b""


def _files(folder: Path, left_out: str | None) -> list[Path]:
    """All regular files, in one order; links are followed, but into no folder twice."""
    found: list[Path] = []
    inside = (os.path.realpath(folder), *([] if left_out is None else [left_out]))
    _collect(folder, inside, found)
    return sorted(found)


def _collect(folder: Path, parents: tuple[str, ...], found: list[Path]) -> None:
    for entry in os.scandir(folder):
        name = entry.name
        if name in _LEFT_OUT or name.startswith(_SWAPPED) or name.endswith(_BESIDE_STORES):
            continue
        path = folder / name
        try:
            mode = path.stat().st_mode if path.exists() else 0
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(mode):
            real = os.path.realpath(path)
            if real not in parents:
                _collect(path, (*parents, real), found)
        elif stat.S_ISREG(mode):
            found.append(path)
