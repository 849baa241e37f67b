"""Finds the project file of the paths on a command line, and the commit of what they hold."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kgitops.manifests.files import (
    SUFFIXES,
    Emptiness,
    EmptyFolder,
    display_name,
    looks_like,
    repository_of,
)
from kgitops.model.errors import UsageError
from kgitops.model.wording import nearest

PROJECT_FILE = "kgitops.yaml"
_RENAMED = (PROJECT_FILE, "kgitops.yml")
PROJECT_VARIABLE = "KGITOPS_PROJECT"
"""The environment variable with the project's folder, where no PATH is given."""


def find_project_root(paths: Sequence[Path]) -> tuple[Path | None, bool]:
    """Find the folder of the project file; true if the whole project is selected.

    Raises:
        UsageError: a path does not exist, the paths are not of one project, or a project file has
            another name.
    """
    for path in paths:
        _check_exists(path)
    roots = [path for path in paths if holds_project(path)]
    if roots and len(paths) > 1:
        raise UsageError(
            f"{roots[0]} is a whole project and can't be mixed with other paths; give one project "
            "folder, or only files and folders of one project"
        )
    if roots:
        return roots[0], True
    if not paths and holds_project(Path()):
        return Path(), True
    enclosing = [find_enclosing_project(path) or _here() for path in paths]
    if not any(enclosing):
        _refuse_renamed(paths)
        return None, False
    if len({root and os.path.realpath(root) for root in enclosing}) > 1:
        raise UsageError("the paths belong to different projects; plan one project at a time")
    return enclosing[0], False


def default_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The project's folder that the environment names; none where it names none.

    Raises:
        UsageError: it names a folder without a project.
    """
    named = environ.get(PROJECT_VARIABLE)
    if not named:
        return ()
    folder = Path(named)
    if not holds_project(folder):
        raise UsageError(
            f"{PROJECT_VARIABLE} is {named}, where there is no {PROJECT_FILE}; set it to a "
            "project's folder, or unset it"
        )
    return (folder,)


def find_enclosing_project(path: Path) -> Path | None:
    """The nearest folder above ``path`` with a project, as a relative path if ``path`` is one."""
    for folder in Path(os.path.abspath(path)).parents:  # noqa: PTH100 (resolves ".." but no links)
        if holds_project(folder):
            return folder if path.is_absolute() else Path(os.path.relpath(folder))
    return None


def holds_project(folder: Path) -> bool:
    """True if ``folder`` has a project file, even one that can't be read.

    A broken link counts as one: without the project there would be no policies.
    """
    return os.path.lexists(folder / PROJECT_FILE)


def _check_exists(path: Path) -> None:
    if os.path.lexists(path):
        return
    parent = path.parent
    names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    near = nearest(path.name, names)
    advice = f"did you mean {parent / near}?" if near else "correct the path"
    raise UsageError(f"{path} does not exist; {advice}")


def _refuse_renamed(paths: Sequence[Path]) -> None:
    """Refuse a file that looks like the missing project file: its policies would judge nothing."""
    absolute = [Path(os.path.abspath(path)) for path in (*paths, Path())]  # noqa: PTH100
    folders = dict.fromkeys(each for path in absolute for each in (path, *path.parents))
    # Without a PATH no folder above is looked at, for a project as for this.
    for folder in folders if paths else absolute:
        try:
            names = os.listdir(folder)  # noqa: PTH208 (names suffice)
        except OSError:
            continue  # a file, or a folder above that the user can't read
        for name in sorted(names):
            meant = (name if name.endswith(SUFFIXES) else looks_like(name, ()) or "").lower()
            if meant in _RENAMED:
                raise UsageError(
                    f"{display_name(folder / name)} looks like a project file, but its name is not "
                    f"{PROJECT_FILE}; rename it, or move it away"
                )


def _here() -> Path | None:
    """The working directory's own project, which paths outside of it may belong to."""
    return Path() if holds_project(Path()) else None


def read_git(folder: Path, sources: Iterable[Path]) -> tuple[str | None, bool]:
    """The commit of ``folder``, and true if anything in ``sources`` differs from it."""
    git = shutil.which("git")
    if git is None or not _may_be_in_repository(folder):
        return None, False
    sha = _ask(git, folder, "rev-parse", "HEAD")
    if not sha:
        return None, False
    paths = [os.path.abspath(path) for path in sources]  # noqa: PTH100 (links stay links)
    status = _ask(git, folder, "status", "--porcelain", "--", *paths)
    return sha, status != ""


def _may_be_in_repository(folder: Path) -> bool:
    """False only where git finds no repository, not even a bare one: asking it takes a process."""
    real = Path(os.path.realpath(folder))
    marks = (Path(each, mark) for each in (real, *real.parents) for mark in (".git", "HEAD"))
    return "GIT_DIR" in os.environ or any(map(os.path.lexists, marks))


def find_sparse_folders(paths: Iterable[Path]) -> tuple[EmptyFolder, ...]:
    """Find the folders below ``paths`` with manifests that a sparse checkout leaves out."""
    found: dict[str, EmptyFolder] = {}
    for path in paths:
        folder = os.path.realpath(path)
        root = repository_of(folder)
        git = shutil.which("git") if _is_sparse(root) else None
        listed = _ask(git, Path(root), "ls-files", "-t", "-z", "--", folder) if git else None
        for tagged in (listed or "").split("\0"):
            tag, _, name = tagged.partition(" ")
            file = os.path.join(root, name)  # noqa: PTH118 (text, as the index has it)
            inside = file.removeprefix(f"{folder}/")
            hidden = any(part.startswith(".") for part in inside.split("/"))
            if tag != "S" or hidden or inside == file or not name.endswith(SUFFIXES):
                continue
            if not os.path.lexists(file):
                empty = _left_out(root, folder, inside, display_name(path))
                found.setdefault(empty.folder, empty)
    return tuple(found.values())


def _is_sparse(root: str) -> bool:
    """True if the working tree has a list of what is checked out."""
    folder = Path(root, ".git")
    try:
        if folder.is_file():
            link = folder.read_text("utf-8", errors="replace").removeprefix("gitdir:").strip()
            folder = Path(root, link)
        return (folder / "info" / "sparse-checkout").exists()
    except OSError:
        return False


def _left_out(root: str, folder: str, inside: str, name: str) -> EmptyFolder:
    """The topmost folder of the file ``inside`` that does not exist, or the file's own folder."""
    parents = list(reversed(Path(inside).parents))[1:]
    missing = next((each for each in parents if not Path(folder, each).exists()), None)
    place = missing or Path(inside).parent
    tree = os.path.relpath(Path(folder, place), root)
    fetch = f"git -C {shlex.quote(root)} sparse-checkout add {shlex.quote(tree)}"
    return EmptyFolder(folder=display_name(Path(name, place)), why=Emptiness.SPARSE, fetch=fetch)


def _ask(git: str, folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 (git itself, found on the path)
            [git, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
