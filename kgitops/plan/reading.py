"""Reading a saved plan: whole, unchanged, and showing nothing but what it does (contract §15)."""

import json
from datetime import timedelta

from kgitops import __version__
from kgitops.model import clock
from kgitops.model.errors import UntrustedPlanError
from kgitops.plan.document.file import SealedPlan, read_sealed_plan
from kgitops.plan.shown import shown_problem

LONGEST_VALID = timedelta(days=7)
"""The longest time between the moment a plan is made and the one it expires."""


def read_plan(content: str, file: str) -> SealedPlan:
    """Read the plan that kgitops saved in ``content``.

    Raises:
        UntrustedPlanError: the text is not a plan, is of an unknown version, was changed, shows
            something else than it does, or is valid for too long.
    """
    sealed = read_sealed_plan(content, file)
    require_shown(sealed, file, content)
    return sealed


def require_shown(sealed: SealedPlan, file: str, content: str | None = None) -> None:
    """Refuse a plan that shows something else than it does, or that is valid for too long.

    ``content`` is its text, where another version of kgitops may have written it.

    Raises:
        UntrustedPlanError: it is one.
    """
    problem = shown_problem(sealed.plan)
    if problem is not None:
        made_by = json.loads(content)["tool"]["version"] if content else __version__
        if made_by != __version__:
            raise UntrustedPlanError(
                f"{file} was made by kgitops {made_by}, and this is {__version__}: {problem}; make "
                "a new plan with this version"
            )
        raise UntrustedPlanError(
            f"{file} shows something else than this kgitops derives from it: {problem}; make a new "
            "plan. If no other build of kgitops made this one, find out who changed it"
        )
    if not sealed.created < sealed.expires <= sealed.created + LONGEST_VALID:
        raise UntrustedPlanError(
            f"{file} expires at {clock.to_text(sealed.expires)}, and was made at "
            f"{clock.to_text(sealed.created)}: a plan is valid for at most 7 days; make a new plan"
        )
