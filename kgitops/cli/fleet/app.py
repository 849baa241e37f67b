"""``kgitops fleet``: many clusters at once."""

import typer

from kgitops.cli.fleet.compile import compile_
from kgitops.cli.fleet.plan import plan
from kgitops.cli.fleet.snapshot import snapshot
from kgitops.cli.fleet.summary import summary
from kgitops.cli.running.many_values import command_with

fleet = typer.Typer(
    help="Plan many clusters at once, and show what came of it.",
    rich_markup_mode=None,
)

fleet.command("snapshot", short_help="Read the clusters of projects into Parquet.")(snapshot)
fleet.command("compile", short_help="Make rows of what projects declare.")(compile_)
fleet.command(
    "plan",
    short_help="Plan every project on every cluster.",
    cls=command_with("--desired", "--state", "--policies"),
)(plan)
fleet.command("summary", short_help="Show what the runs of a fleet came to.")(summary)
