"""Saved plans: recognized, read, and matched with their project."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from kgitops.manifests.project_file import load_project
from kgitops.model.errors import FindingsError, UntrustedPlanError, UsageError
from kgitops.model.registry import DEFAULT_PROJECT
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.plan.reading import read_plan
from kgitops.workflow.project.project_root import (
    PROJECT_FILE,
    find_enclosing_project,
    holds_project,
)

_MARK = '"kgitops.plan"'
_YAML = (".yaml", ".yml")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_NEXT = "name a file that kgitops plan -o wrote"


def load_plan(path: Path) -> SealedPlan:
    """The plan saved at ``path``.

    Raises:
        UsageError: there is no such file.
        UntrustedPlanError: it is not a plan, or one that can't be trusted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} can't be read: {(error.strerror or str(error)).lower()}; {_NEXT}"
        ) from error
    except UnicodeDecodeError as error:
        raise UntrustedPlanError(f"{path} is not a plan: it is not UTF-8; {_NEXT}") from error
    return read_plan(text, str(path))


def check_digest(sealed: SealedPlan, expected: str | None) -> None:
    """The plan is the one that was reviewed, where the caller says which that was.

    Raises:
        UsageError: what is expected is not a digest.
        UntrustedPlanError: it is another plan.
    """
    if expected is None or expected == sealed.plan_digest:
        return
    if not _DIGEST.fullmatch(expected):
        raise UsageError(
            f"--expect-digest {expected!r} is not a digest; write the whole of the line that "
            "begins with sha256: below a plan"
        )
    raise UntrustedPlanError(
        f"the plan's digest is {sealed.plan_digest}, expected was {expected}; review this plan, "
        "or apply the one that was reviewed"
    )


def is_plan(path: Path) -> bool:
    """True if a path given to ``apply`` is a saved plan and not manifests.

    A file that is not YAML by its name is one unless it reads like a manifest, so that a damaged
    plan is refused as a plan and never loaded as something else.
    """
    if not path.is_file():
        return False
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path.suffix not in _YAML
    if text.startswith("{") and _MARK in text:
        return True
    return path.suffix not in _YAML and "apiVersion" not in text


_BELOW = ("*/", "*/*/", "*/*/*/")


def find_plan_root(plan: Plan, file: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of the project that a saved plan was made for; None if it was made without one.

    A plan names its sources as the command line that made it did. So the search begins with them,
    from here and from the plan's folder; then these two folders; and last the folders below. The
    identity alone decides that a project is the right one.

    Raises:
        UntrustedPlanError: it was made for another project than those, or several match.
        FindingsError: the one project file that was found can't be read.
    """
    search = _Search(plan.desired.identity, environ)
    root = next(filter(search.finds, _roots_near(plan, file)), None)
    if root is not None:
        return root
    if search.wanted == DEFAULT_PROJECT:
        search.refuse_others()
        return None
    below = {os.path.realpath(root): root for root in _roots_below(file) if search.finds(root)}
    if len(below) == 1:
        return next(iter(below.values()))
    made_for = f"the plan was made for the project {plan.desired.project!r} ({search.wanted})"
    advice = "run apply in the folder of that project"
    if below:
        folders = ", ".join(sorted(map(str, below.values())))
        raise UntrustedPlanError(f"{made_for}, which lies in each of {folders}; {advice}")
    if search.unreadable:
        raise search.unreadable[0]
    raise UntrustedPlanError(f"{made_for}, and {search.other_project}; {advice}")


class _Search(Struct):
    """Recognizes the project searched for, and remembers the others."""

    wanted: str
    environ: Mapping[str, str]
    others: list[str] = field(default_factory=list)
    unreadable: list[FindingsError] = field(default_factory=list)

    def finds(self, root: Path) -> bool:
        """True if the project in this folder is the one searched for."""
        try:
            project = load_project(root / PROJECT_FILE, env=self.environ).metadata
        except FindingsError as error:
            self.unreadable.append(error)
            return False
        identity = project.uid or project.name
        self.others.append(f"{project.name!r} ({identity})")
        return identity == self.wanted

    def refuse_others(self) -> None:
        """Refuse a plan that was made without a project file beside one, which was not asked."""
        if self.unreadable:
            raise self.unreadable[0]
        if self.others:
            raise UntrustedPlanError(
                f"the plan was made without a project file, and {self.other_project}, whose "
                "policies and limits it never met; make a new plan in this project, or apply "
                f"this one in a folder without {PROJECT_FILE}"
            )

    @property
    def other_project(self) -> str:
        """A sentence part on the project that was found instead."""
        if self.others:
            return f"the project here is {self.others[0]}"
        return f"no {PROJECT_FILE} is here"


def _roots_near(plan: Plan, file: Path) -> Iterator[Path]:
    sources = dict.fromkeys(
        Path(change.source.file).parent for change in plan.changes if change.source
    )
    for start in (Path(), file.parent):
        for folder in sources:
            root = find_enclosing_project(start / folder / PROJECT_FILE)
            if root is not None:
                yield root
    yield from (folder for folder in (Path(), file.parent) if holds_project(folder))


def _roots_below(file: Path) -> Iterator[Path]:
    """Search a few levels deep, for plans without sources: removed objects have none."""
    for start in (Path(), file.parent):
        for pattern in _BELOW:
            yield from (path.parent for path in sorted(start.glob(f"{pattern}{PROJECT_FILE}")))
