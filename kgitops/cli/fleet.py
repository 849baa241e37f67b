"""``kgitops fleet``: many clusters at once."""

import typer

from kgitops.cli.fleet_summary import summary

fleet = typer.Typer(
    help="Plan many clusters at once, and show what came of it.",
    rich_markup_mode=None,
)

for _name, _command, _told in (("summary", summary, "Show what the runs of a fleet came to."),):
    fleet.command(_name, short_help=_told)(_command)
