"""Folders below the manifests that hold no file: git keeps none, so files may be missing there."""

import os
import re
import shlex
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

SUBMODULES_FILE = ".gitmodules"
_PATH = re.compile(r'^\s*path\s*=\s*("(?:\\.|[^"\\])*"|[^#;\r\n]*)', re.IGNORECASE | re.MULTILINE)


class Emptiness(StrEnum):
    """The sign that files are missing: no file, a submodule or a sparse checkout without it."""

    EMPTY = "empty"
    SUBMODULE = "submodule"
    SPARSE = "sparse"


class EmptyFolder(Struct, frozen=True, kw_only=True):
    """A folder below the manifests without a file, by its name in messages.

    ``fetch`` is the command that brings its files, where there is one.
    """

    folder: str
    why: Emptiness = Emptiness.EMPTY
    fetch: str | None = None

    @property
    def problem(self) -> str:
        """Name the folder, and the sign that files are missing."""
        match self.why:
            case Emptiness.SUBMODULE:
                return f"{self.folder} is a git submodule that was not checked out"
            case Emptiness.SPARSE:
                return f"the sparse checkout leaves out manifests in {self.folder}"
            case Emptiness.EMPTY:
                return f"the folder {self.folder} is empty, so files may be missing"

    @property
    def advice(self) -> str:
        """Say how to bring its files, or that there are none."""
        match self.why:
            case Emptiness.SUBMODULE:
                return f"run `{self.fetch}` (in GitHub Actions, set `submodules: true`)"
            case Emptiness.SPARSE:
                return f"run `{self.fetch}` (in GitHub Actions, correct `sparse-checkout`)"
            case Emptiness.EMPTY:
                return "put its files back, or remove the folder"


def empty_folder(path: str, name: str) -> EmptyFolder:
    """Describe the folder at the real ``path``: it may be, or be in, a submodule."""
    parent = os.path.dirname(path)  # noqa: PTH120 (paths are text, as the walk has them)
    root = repository_of(parent)
    for submodule in _submodules(root):
        if f"{path}/".startswith(f"{submodule}/"):
            return _submodule(root, submodule, name)
    return EmptyFolder(folder=name)


def missing_submodules(root: str, below: str, name: str) -> Iterator[EmptyFolder]:
    """Yield the submodules of ``root`` that belong in the folder ``below``, and are not there.

    ``below`` is the real path of a folder, ``name`` its name in messages. What is hidden does not
    count, as it would not be read.
    """
    for submodule in _submodules(root):
        inside = submodule.removeprefix(f"{below}/")
        hidden = any(part.startswith(".") for part in inside.split("/"))
        if inside != submodule and not hidden and not os.path.lexists(submodule):
            yield _submodule(root, submodule, f"{name}/{inside}".removeprefix("./"))


def repository_of(path: str) -> str:
    """Return the nearest folder above or at ``path`` that is a working tree, or the root folder.

    An archive or another copy of one has no ``.git``, but may have ``.gitmodules``.
    """
    while path != (parent := os.path.dirname(path)):  # noqa: PTH120
        if any(os.path.lexists(f"{path}/{mark}") for mark in (".git", SUBMODULES_FILE)):
            break
        path = parent
    return path


def _submodules(root: str) -> Iterator[str]:
    """Yield the paths of the submodules that are listed in ``root``."""
    try:
        listed = Path(root, SUBMODULES_FILE).read_text("utf-8", errors="replace")
    except OSError:
        return
    for written in _PATH.findall(listed):
        path = written.strip()
        if path.startswith('"'):
            path = re.sub(r"\\(.)", r"\1", path[1:-1])
        if path:
            yield os.path.normpath(f"{root}/{path}")


def _submodule(root: str, submodule: str, name: str) -> EmptyFolder:
    here = os.path.realpath(".")
    if repository_of(here) == root:
        command, place = "git", os.path.relpath(submodule, here)
    else:
        command, place = f"git -C {shlex.quote(root)}", os.path.relpath(submodule, root)
    fetch = f"{command} submodule update --init {shlex.quote(place)}"
    return EmptyFolder(folder=name, why=Emptiness.SUBMODULE, fetch=fetch)
