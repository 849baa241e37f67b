"""Where the project lies that a saved plan was made for."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgitops.manifests.project.values import load_project
from kgitops.model.errors import FindingsError, UntrustedPlanError
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.plan.document.plan import Plan
from kgitops.workflow.project.project_root import PROJECT_FILE, enclosing_home, holds_project

_BELOW = ("*/", "*/*/", "*/*/*/")


def home_of_plan(plan: Plan, file: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of the project that a saved plan was made for; None if it was made without one.

    A plan names its sources as the command line did that made it. So their project is looked for
    from here and from where the plan lies, before what lies here counts, and last what lies below.
    That it is the project is decided by its identity alone.

    Raises:
        UntrustedPlanError: it was made for another project than those, or can't be told which.
        FindingsError: the one project file that was found can't be read.
    """
    search = _Search(plan.desired.identity, environ)
    home = next(filter(search.finds, _homes_near(plan, file)), None)
    if home is not None or search.wanted == DEFAULT_PROJECT:
        return home
    below = {os.path.realpath(home): home for home in _homes_below(file) if search.finds(home)}
    if len(below) == 1:
        return next(iter(below.values()))
    made_for = f"the plan was made for the project {plan.desired.project!r} ({search.wanted})"
    there = "run apply in the folder of that project"
    if below:
        folders = ", ".join(sorted(map(str, below.values())))
        raise UntrustedPlanError(f"{made_for}, which lies in each of {folders}; {there}")
    if search.unreadable:
        raise search.unreadable[0]
    raise UntrustedPlanError(f"{made_for}, and {search.found_instead}; {there}")


@dataclass(slots=True)
class _Search:
    """Tells the wanted project from others, and remembers those."""

    wanted: str
    environ: Mapping[str, str]
    others: list[str] = field(default_factory=list)
    unreadable: list[FindingsError] = field(default_factory=list)

    def finds(self, home: Path) -> bool:
        """Whether the project in this folder is the wanted one."""
        try:
            project = load_project(home / PROJECT_FILE, env=self.environ)
        except FindingsError as error:
            self.unreadable.append(error)
            return False
        identity = project.uid or project.name
        self.others.append(f"{project.name!r} ({identity})")
        return identity == self.wanted

    @property
    def found_instead(self) -> str:
        """What there is in its place, for a sentence."""
        if self.others:
            return f"the project here is {self.others[0]}"
        return f"no {PROJECT_FILE} is here"


def _homes_near(plan: Plan, file: Path) -> Iterator[Path]:
    sources = dict.fromkeys(
        Path(change.source.file).parent for change in plan.changes if change.source
    )
    for start in (Path(), file.parent):
        for folder in sources:
            home = enclosing_home(start / folder / PROJECT_FILE)
            if home is not None:
                yield home
    yield from (folder for folder in (Path(), file.parent) if holds_project(folder))


def _homes_below(file: Path) -> Iterator[Path]:
    """Not deep, and only asked where a plan names no source: what it removes stands nowhere."""
    for start in (Path(), file.parent):
        for pattern in _BELOW:
            yield from (path.parent for path in sorted(start.glob(f"{pattern}{PROJECT_FILE}")))
