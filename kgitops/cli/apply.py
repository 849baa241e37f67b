"""``kgitops apply``: a saved plan exactly, or plan, ask, execute."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import (
    EventFormat,
    LockTimeout,
    PlanOptions,
    ProjectOptions,
    VariablesOf,
)
from kgitops.cli.running.parameters import with_groups


class ApplyTarget(ProjectOptions, frozen=True, kw_only=True):
    """A saved plan in the place of a project, or a project."""

    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PLAN|PATH",
            help="A saved plan, or what to plan and apply. Default: the project here.",
        ),
    ] = None


@with_groups
def apply(
    target: ApplyTarget,
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
        ),
    ] = None,
    parallelism: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="How many requests, or password programs, may run at once."
        ),
    ] = 10,
    lock_timeout: LockTimeout = None,
    allow_plaintext_secrets: Annotated[
        bool,
        typer.Option(
            "--allow-plaintext-secrets",
            help="Set passwords of users over a connection without TLS.",
        ),
    ] = False,
    allow_secret_commands: Annotated[
        bool,
        typer.Option(
            "--allow-secret-commands",
            help="Let a saved plan, or a resumed run, start the programs and write the files that "
            "its passwords name.",
        ),
    ] = False,
    format_: Annotated[
        EventFormat, typer.Option("--format", help="json writes one event a line.")
    ] = EventFormat.TEXT,
    *,
    options: PlanOptions,
) -> int:
    """Execute a saved plan, or plan, ask and execute.

    A saved plan is executed exactly, or nothing is. With --resume an unfinished run continues.

    Example: kgitops apply plan.json
    """
    from kgitops.cli.running.apply_flow import ApplyOptions, run_apply
    from kgitops.cli.running.execute import ExecuteOptions
    from kgitops.cli.running.selection import make_selection

    return run_apply(
        make_selection(target, options, variables_of=variables_of),
        ApplyOptions(
            auto_approve=auto_approve,
            resume=resume,
            expect_digest=expect_digest,
            full=options.full,
            execution=ExecuteOptions(
                parallelism=parallelism,
                lock_timeout=lock_timeout,
                format=format_,
                no_color=options.no_color,
                allow_plaintext_secrets=allow_plaintext_secrets,
                allow_secret_commands=allow_secret_commands,
            ),
        ),
    )
