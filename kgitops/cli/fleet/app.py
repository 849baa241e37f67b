"""``kgitops fleet``: many clusters at once."""

import typer

from kgitops.cli.fleet.inputs import compile_, snapshot
from kgitops.cli.fleet.plan import plan
from kgitops.cli.fleet.summary import summary
from kgitops.cli.running.parameters import many_values

fleet = typer.Typer(
    help="Plan many clusters at once, and show what came of it.",
    rich_markup_mode=None,
)

fleet.command("snapshot", short_help="Read the clusters of projects into Parquet.")(snapshot)
fleet.command("compile", short_help="Make rows of what projects declare.")(compile_)
fleet.command(
    "plan",
    short_help="Plan every project on every cluster.",
    cls=many_values("--desired", "--state", "--policies"),
)(plan)
fleet.command("summary", short_help="Show what the runs of a fleet came to.")(summary)
