"""``kgitops apply``: a saved plan exactly, or plan, ask, execute."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import (
    AllowDeletes,
    ClusterName,
    EventFormat,
    Excludes,
    FailOnGrade,
    Full,
    NoColor,
    Principal,
    Selecting,
    Targets,
    VariablesOf,
)


def apply(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PLAN|PATH",
            help="A saved plan, or what to plan and apply. Default: the project here.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterName = None,
    variables_of: VariablesOf = None,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Don't ask before executing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="First go on with this project's unfinished run.")
    ] = False,
    expect_digest: Annotated[
        str | None,
        typer.Option(
            metavar="sha256:…",
            help="Apply only the plan with this digest: the one that was reviewed.",
            show_default=False,
        ),
    ] = None,
    parallelism: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many requests may be under way at once.")
    ] = 10,
    format_: Annotated[
        EventFormat, typer.Option("--format", help="json writes one event a line.")
    ] = EventFormat.TEXT,
    target: Targets = None,
    exclude: Excludes = None,
    selector: Selecting = None,
    as_: Principal = None,
    allow_deletes: AllowDeletes = None,
    fail_on: FailOnGrade = None,
    full: Full = False,
    no_color: NoColor = False,
) -> int:
    """Execute a saved plan, or plan, ask and execute.

    A saved plan is executed exactly, or nothing is. With --resume an unfinished run goes on.

    Example: kgitops apply plan.json
    """
    from kgitops.cli.running.apply import ApplyOptions, run_apply
    from kgitops.cli.running.execute import How
    from kgitops.cli.running.selection import make_selection

    selection = make_selection(
        paths,
        cluster,
        variables_of=variables_of,
        targets=target,
        excludes=exclude,
        selector=selector,
        principal=as_,
        allow_deletes=allow_deletes,
        fail_on=fail_on,
    )
    options = ApplyOptions(
        auto_approve=auto_approve,
        resume=resume,
        expect_digest=expect_digest,
        full=full,
        how=How(parallelism=parallelism, format=format_, no_color=no_color),
    )
    return run_apply(selection, options)
