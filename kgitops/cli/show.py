"""``kgitops show``: a saved plan again."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import DetailedExitcode, Format, Full, NoColor, PlanFormat


def show(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A saved plan.")],
    format_: PlanFormat = Format.TEXT,
    detailed_exitcode: DetailedExitcode = False,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Show a saved plan again, in any format.

    Example: kgitops show plan.json --format markdown
    """
    from kgitops.cli.running.plan import exit_code, show_plan
    from kgitops.workflow.project.saved_plan import load_plan

    sealed = load_plan(plan)
    show_plan(sealed, format_, full=full, no_color=no_color, saved_as=plan)
    return exit_code(sealed.plan.verdict, detailed=detailed_exitcode)
