"""Where the project file lies that the paths of a command line are about."""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from kgitops.model.errors import UsageError

PROJECT_FILE = "kgitops.yaml"
PROJECT_VARIABLE = "KGITOPS_PROJECT"
"""The environment variable with the project's folder, where no PATH is given."""


def home_of_paths(paths: Sequence[Path]) -> tuple[Path | None, bool]:
    """The folder of the project file, and whether all of the project is asked for.

    Raises:
        UsageError: a path does not exist, or the paths can't be meant together.
    """
    for path in paths:
        _check_exists(path)
    homes = [path for path in paths if holds_project(path)]
    if homes and len(paths) > 1:
        raise UsageError(
            f"{homes[0]} is a whole project and can't be mixed with other paths; give one project "
            "folder, or only files and folders of one project"
        )
    if homes:
        return homes[0], True
    if not paths:
        return (Path(), True) if holds_project(Path()) else (None, False)
    around = [enclosing_home(path) or _here() for path in paths]
    if len({home and os.path.realpath(home) for home in around}) > 1:
        raise UsageError("the paths belong to different projects; plan one project at a time")
    return around[0], False


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


def enclosing_home(path: Path) -> Path | None:
    """The nearest folder above ``path`` that holds a project, spelt from here if ``path`` is."""
    for folder in Path(os.path.abspath(path)).parents:  # noqa: PTH100 (resolves ".." but no links)
        if holds_project(folder):
            return folder if path.is_absolute() else Path(os.path.relpath(folder))
    return None


def holds_project(folder: Path) -> bool:
    """Whether a project file lies in ``folder``, also one that can't be read.

    A link to nothing is no lack of a project: without it there would be no policies.
    """
    return os.path.lexists(folder / PROJECT_FILE)


def _check_exists(path: Path) -> None:
    if os.path.lexists(path):
        return
    parent = path.parent
    names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    near = get_close_matches(path.name, names, n=1)
    advice = f"did you mean {parent / near[0]}?" if near else "correct the path"
    raise UsageError(f"{path} does not exist; {advice}")


def _here() -> Path | None:
    """The working directory's own project, which paths outside of it may be given to."""
    return Path() if holds_project(Path()) else None
