"""Finds the manifest files below the paths that the user gave, in one order.

Folders that hold no file are told: git keeps none, so files may be missing there.
"""

import os
import re
import shlex
import stat
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from kgitops.model.source import Finding, Source

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


PROJECT_FILE = "kgitops.yaml"
SUFFIXES = (".yaml", ".yml", ".json")
_ANY = "x"
_LOOKS_LIKE_A_MANIFEST = re.compile(
    r"(.*?\.(?:ya?ml|json))([^a-z0-9].*)?", re.IGNORECASE | re.DOTALL
)
"""A name with the ending of a manifest in any case, perhaps before another ending."""
_NO_CONTENT = (".git", ".DS_Store")
"""Entries of a folder that holds nothing else: of a submodule, and of a file manager."""


class ManifestFile(Struct, frozen=True):
    """A file to read, its name in findings, and its path without links."""

    path: Path
    name: str
    real: str = ""

    @property
    def folder(self) -> str:
        """The folder that the file was found in; links in its path stay links."""
        return os.path.dirname(os.path.abspath(self.path))  # noqa: PTH100, PTH120 (".." is resolved)


def find_files(
    paths: Sequence[Path],
    findings: list[Finding],
    *,
    may_be_empty: bool = False,
    empty_folders: list[EmptyFolder] | None = None,
    policies: Collection[Path] = (),
) -> list[ManifestFile]:
    """The manifest files below ``paths``, each once; problems are added to ``findings``.

    A file that only looks like a manifest is one. ``may_be_empty``: a path without files is not.
    Folders without a file are added to ``empty_folders``, but for those of ``policies``; where that
    is given, a submodule that was not checked out is a problem all the same.
    """
    besides = frozenset(map(os.path.realpath, policies)) if empty_folders is not None else ()
    walk = _Walk(findings, may_be_empty, empty_folders, besides)
    for path in paths:
        walk.visit(path)
    return sorted(walk.by_real_path.values(), key=lambda file: file.name)


_NAMES_FROM: ContextVar[Path | None] = ContextVar("_NAMES_FROM", default=None)


@contextmanager
def names_from(folder: Path) -> Iterator[None]:
    """Name files below ``folder`` from there within this block: it is a copy, and may move."""
    token = _NAMES_FROM.set(folder)
    try:
        yield
    finally:
        _NAMES_FROM.reset(token)


def in_copy() -> bool:
    """Return True within a block of :func:`names_from`."""
    return _NAMES_FROM.get() is not None


def display_name(path: Path) -> str:
    """The path as the user would type it: relative if it is below the current directory."""
    text = os.path.normpath(path)
    here = f"{_NAMES_FROM.get() or Path.cwd()}{os.sep}"
    return text.removeprefix(here)


class _Walk(Struct):
    findings: list[Finding]
    may_be_empty: bool
    empty_folders: list[EmptyFolder] | None
    besides: Collection[str]
    by_real_path: dict[str, ManifestFile] = field(default_factory=dict)

    def visit(self, path: Path) -> None:
        """Take a path that the user gave."""
        name = display_name(path)
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            self._add(f"{name} does not exist", "correct the path")
        except OSError as error:
            self._add(_unreadable(name, error), "correct the path or its permissions")
        else:
            if stat.S_ISDIR(mode):
                self._visit_folder(path, name)
            elif path.name == PROJECT_FILE:
                self._add(
                    f"{name} is a project file, not a manifest",
                    "give its folder to load the whole project",
                )
            elif stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
                self._take(ManifestFile(path, name, os.path.realpath(path)))
            else:
                self._add(f"{name} is not a file", "give a file or a folder")

    def _visit_folder(self, path: Path, name: str) -> None:
        if name.endswith(SUFFIXES):
            self._add_folder_named_like_a_file(name)
            return
        before = len(self.findings)
        real = os.path.realpath(path)
        files = list(self._files_below(path, (real,)))
        for file in files:
            self._take(file)
        if self.empty_folders is not None:
            self.empty_folders += missing_submodules(repository_of(real), real, name)
        if files or before != len(self.findings):
            return
        empty = empty_folder(real, name)
        if empty.fetch and not (self.may_be_empty and self.empty_folders is None):
            self._add(empty.problem, empty.advice)
        elif not self.may_be_empty:
            self._add(
                f"{name} holds no manifests",
                "add a .yaml, .yml or .json file, or give another path",
            )

    def _files_below(
        self, folder: Path, parents: tuple[str, ...]
    ) -> Generator[ManifestFile, None, bool]:
        """The manifests, which may be very many; True if there is any file."""
        inside = display_name(folder / _ANY).removesuffix(_ANY)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._add(_unreadable(display_name(folder), error), "correct its permissions")
            return True
        mark = len(self.empty_folders or ())
        holds_a_file = False
        for entry in entries:
            if entry.name.startswith("."):
                self._see_hidden(entry, folder, parents)
                holds_a_file |= entry.name not in _NO_CONTENT and not entry.is_dir()
                continue
            path = folder / entry.name
            if entry.is_dir():
                holds_a_file |= yield from self._below(path, parents)
                continue
            holds_a_file = True
            if entry.name.endswith(SUFFIXES):
                if _is_irregular(entry):
                    self._add(f"{display_name(path)} is not a file", "remove it")
                elif entry.name != PROJECT_FILE:
                    # The real path of an entry that is not a link is below that of its folder.
                    link = entry.is_symlink()
                    real = os.path.realpath(path) if link else os.path.join(parents[-1], entry.name)  # noqa: PTH118
                    yield ManifestFile(path, inside + entry.name, real)
                elif len(parents) > 1:
                    self._add(
                        f"{display_name(folder)} is a project of its own: it holds {PROJECT_FILE}",
                        "move it out of this folder, or give its path alone",
                    )
            elif entry.is_symlink() and not path.exists():
                # It may be the folder that holds the policies.
                self._add(f"{display_name(path)} is a link to nothing", "correct or remove it")
            else:
                self._see_other(inside, entry.name, entries)
        if not holds_a_file and len(parents) > 1 and self.empty_folders is not None:
            del self.empty_folders[mark:]
            if not any(f"{parents[-1]}/".startswith(f"{path}/") for path in self.besides):
                self.empty_folders.append(empty_folder(parents[-1], display_name(folder)))
        return holds_a_file

    def _see_hidden(
        self, entry: "os.DirEntry[str]", folder: Path, parents: tuple[str, ...]
    ) -> None:
        """Look for the submodules of a submodule that was checked out."""
        nested = len(parents) > 1 and entry.name == SUBMODULES_FILE
        if nested and self.empty_folders is not None:
            real = parents[-1]
            self.empty_folders += missing_submodules(real, real, display_name(folder))

    def _see_other(self, inside: str, name: str, entries: Sequence["os.DirEntry[str]"]) -> None:
        """Add a finding if a file that is not read looks like a manifest."""
        meant = looks_like(name, {entry.name for entry in entries})
        if meant is None:
            return
        self.findings.append(
            Finding(
                source=Source(inside + name, 1, 1),
                problem="the name looks like a manifest's, but files with this ending are not read",
                advice=f"rename it to {meant} if it is one, else remove it or move "
                "it out of the manifests",
            )
        )

    def _below(self, path: Path, parents: tuple[str, ...]) -> Generator[ManifestFile, None, bool]:
        name = display_name(path)
        real = os.path.realpath(path)
        if real in parents:
            self._add(f"{name} is a link to a folder that it lies in", "remove the link")
        elif name.endswith(SUFFIXES):
            self._add_folder_named_like_a_file(name)
        else:
            return (yield from self._files_below(path, (*parents, real)))
        return True

    def _take(self, file: ManifestFile) -> None:
        self.by_real_path.setdefault(file.real, file)

    def _add_folder_named_like_a_file(self, name: str) -> None:
        self._add(f"{name} is a folder, though it is named like a file", "rename it")

    def _add(self, problem: str, advice: str) -> None:
        self.findings.append(Finding(source=None, problem=problem, advice=advice))


def looks_like(name: str, beside: Collection[str]) -> str | None:
    """Return the manifest's name that ``name`` looks like: ``a.yaml`` for ``a.YAML.tmp``.

    None where it looks like none, or is an editor's backup of a file in ``beside``.
    """
    alike = _LOOKS_LIKE_A_MANIFEST.fullmatch(name)
    if alike is None or _backed_up(name) in beside:
        return None
    stem, _, suffix = alike[1].rpartition(".")
    return f"{stem}.{suffix.lower()}"


def _backed_up(name: str) -> str:
    """The file that an editor made the backup ``name`` of: ``x~`` or ``#x#``; else nothing."""
    if name.startswith("#") and name.endswith("#"):
        return name[1:-1]
    return name[:-1] if name.endswith("~") else ""


def _is_irregular(entry: "os.DirEntry[str]") -> bool:
    """True for a pipe or the like: opening one without a writer would wait forever."""
    try:
        return not stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return False  # reading it will say why


def _unreadable(name: str, error: OSError) -> str:
    return f"{name} can't be read: {error.strerror or error}"
