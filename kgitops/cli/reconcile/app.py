"""``kgitops reconcile``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.reconcile.options import LookOptions, PaceOptions, SourceOptions, SuspendOptions
from kgitops.cli.running.options import EventFormat, complete_cluster
from kgitops.cli.running.parameters import with_groups


@with_groups
def reconcile(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[suspend|resume] [PATH]…",
            help="Folders of projects, each with turns of its own. Default: KGITOPS_PROJECT, "
            "or here.",
        ),
    ] = None,
    clusters: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="NAME|URL",
            help="A cluster of the project, or a URL. May be repeated: each has turns of its own.",
            autocompletion=complete_cluster,
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take one turn, and end.")] = False,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="--once: exit 2 while changes are left.")
    ] = False,
    plans: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where plans wait that somebody has to apply."),
    ] = None,
    format_: Annotated[
        EventFormat, typer.Option("--format", help="json writes one turn or event a line.")
    ] = EventFormat.TEXT,
    *,
    source: SourceOptions,
    pace: PaceOptions,
    look: LookOptions,
    suspension: SuspendOptions,
) -> int:
    """Plan again and again, and apply what may be applied without a person.

    That is what spec.reconcile of the project file says: nothing (observe, the default); what
    others changed and safe changes (converge, up to maxRisk, never a deletion); or whatever limits
    and policies let through (auto). All else waits as a sealed plan for kgitops apply.

    kgitops reconcile suspend stops that for all replicas, and resume lets it continue.

    Example: kgitops reconcile examples/quickstart --once
    """
    from kgitops.cli.reconcile.flow import ReconcileCommand, run_reconcile
    from kgitops.cli.reconcile.suspending import action_of, run_suspension

    action, projects = action_of(paths or [])
    command = ReconcileCommand(
        paths=tuple(projects),
        clusters=tuple(clusters or ()),
        once=once,
        detailed=detailed_exitcode,
        plans=plans,
        as_json=format_ is EventFormat.JSON,
        interval=pace.interval,
        jitter=pace.jitter,
        timeout=pace.timeout,
        concurrency=pace.concurrency,
        parallelism=pace.parallelism,
        source=source,
        look=look,
    )
    if action is not None:
        return run_suspension(action, command, suspension)
    return run_reconcile(command, suspension)
