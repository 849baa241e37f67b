"""``kgitops explain``: the place that each value of a declared object comes from."""

import sys
from typing import Annotated

import typer

from kgitops.cli.running.options import ListFormat, NoColor, ProjectOptions
from kgitops.cli.running.parameters import with_groups


@with_groups
def explain(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The object, as plans name it: topic/orders.")
    ],
    project: ProjectOptions,
    last_applied: Annotated[
        bool,
        typer.Option("--last-applied", help="Ask the cluster for the values last applied, too."),
    ] = False,
    format_: Annotated[ListFormat, typer.Option("--format", help="How to show them.")] = (
        ListFormat.TEXT
    ),
    no_color: NoColor = False,
) -> int:
    """Show where each value of a declared object is written.

    In its manifest, a profile, a folder, the defaults of the project or of the cluster, or a role.
    No cluster is asked, unless for what was last applied: then also of an object that no document
    declares any more.

    Example: kgitops explain topic/shop.customers examples/profiles
    """
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import print_result, wants_colour
    from kgitops.model.verdict import ExitCode
    from kgitops.report.explanation import render_explanation
    from kgitops.workflow.explaining import explain as explain_object

    selection = make_selection(project, offline=not last_applied)
    explained = explain_object(selection, address, applied=last_applied)
    if format_ is ListFormat.JSON:
        from kgitops.report.explanation import explanation_to_json

        print_result(explanation_to_json(explained))
    else:
        colour = wants_colour(sys.stdout, no_color=no_color)
        print_result(render_explanation(explained, colour=colour))
    return int(ExitCode.SUCCESS)
