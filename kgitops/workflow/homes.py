"""Where the project file lies that a command line, or a saved plan, is about."""

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from kgitops.manifests.project import load_project
from kgitops.model.errors import FindingsError, UntrustedPlanError, UsageError
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.plan.plan import Plan

PROJECT_FILE = "kgitops.yaml"


def home_of_paths(paths: Sequence[Path]) -> tuple[Path | None, bool]:
    """The folder of the project file, and whether all of the project is asked for.

    Raises:
        UsageError: a path does not exist, or the paths can't be meant together.
    """
    for path in paths:
        _check_exists(path)
    homes = [path for path in paths if _holds_project(path)]
    if homes and len(paths) > 1:
        raise UsageError(
            f"{homes[0]} is a whole project and can't be mixed with other paths; give one project "
            "folder, or only files and folders of one project"
        )
    if homes:
        return homes[0], True
    if not paths:
        return (Path(), True) if _holds_project(Path()) else (None, False)
    found = {_enclosing(path) or _here() for path in paths}
    if len(found) > 1:
        raise UsageError("the paths belong to different projects; plan one project at a time")
    return found.pop(), False


def home_of_plan(plan: Plan, file: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of the project that a saved plan was made for; None if it was made without one.

    A plan names its sources as the command line did that made it. So their project is looked for
    from here and from where the plan lies, before what lies here counts. That it is the project
    is decided by its identity alone.

    Raises:
        UntrustedPlanError: it was made for another project than those.
        FindingsError: the one project file that was found can't be read.
    """
    wanted = plan.desired.identity
    others: dict[str, Path] = {}
    unreadable: FindingsError | None = None
    for home in dict.fromkeys(_homes_near(plan, file)):
        try:
            project = load_project(home / PROJECT_FILE, env=environ)
        except FindingsError as error:
            unreadable = error
            continue
        if wanted == (project.uid or project.name):
            return home
        others.setdefault(f"{project.name!r} ({project.uid or project.name})", home)
    if wanted == DEFAULT_PROJECT:
        return None
    if unreadable:
        raise unreadable
    found = f"the project here is {next(iter(others))}" if others else f"no {PROJECT_FILE} is here"
    raise UntrustedPlanError(
        f"the plan was made for the project {plan.desired.project!r} ({wanted}), and {found}; run "
        "apply in the folder of that project"
    )


def _homes_near(plan: Plan, file: Path) -> Iterator[Path]:
    sources = dict.fromkeys(
        Path(change.source.file).parent for change in plan.changes if change.source
    )
    for start in (Path(), file.parent):
        for folder in sources:
            home = _enclosing(start / folder / PROJECT_FILE)
            if home is not None:
                yield home
    yield from (folder for folder in (Path(), file.parent) if _holds_project(folder))


def _check_exists(path: Path) -> None:
    if os.path.lexists(path):
        return
    parent = path.parent
    names = [entry.name for entry in parent.iterdir()] if parent.is_dir() else []
    near = get_close_matches(path.name, names, n=1)
    advice = f"did you mean {parent / near[0]}?" if near else "correct the path"
    raise UsageError(f"{path} does not exist; {advice}")


def _enclosing(path: Path) -> Path | None:
    """The nearest folder above ``path`` that holds a project, spelt from here if ``path`` is."""
    for folder in Path(os.path.abspath(path)).parents:  # noqa: PTH100 (resolves ".." but no links)
        if _holds_project(folder):
            return folder if path.is_absolute() else Path(os.path.relpath(folder))
    return None


def _here() -> Path | None:
    """The working directory's own project, which paths outside of it may be given to."""
    return Path() if _holds_project(Path()) else None


def _holds_project(folder: Path) -> bool:
    return (folder / PROJECT_FILE).is_file()
