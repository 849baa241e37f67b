"""``kgitops fleet``: many clusters at once."""

import typer

from kgitops.cli.fleet_plan import plan
from kgitops.cli.fleet_summary import summary
from kgitops.cli.many_values import command_with

fleet = typer.Typer(
    help="Plan many clusters at once, and show what came of it.",
    rich_markup_mode=None,
)

fleet.command(
    "plan",
    short_help="Plan every project on every cluster.",
    cls=command_with("--desired", "--state", "--policies"),
)(plan)
fleet.command("summary", short_help="Show what the runs of a fleet came to.")(summary)
