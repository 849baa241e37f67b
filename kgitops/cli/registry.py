"""``kgitops registry``: check, repair, release, export and import the records of who owns what."""

from pathlib import Path
from typing import Annotated

import typer

from kgitops.cli.running.options import LockTimeout, ProjectOptions
from kgitops.cli.running.parameters import with_groups
from kgitops.model.verdict import ExitCode

registry = typer.Typer(
    help="The records on the cluster of who owns what: checked, repaired, released, saved.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@registry.command("check")
@with_groups
def check(project: ProjectOptions) -> int:
    """See whether every record of the registry can be read.

    Each that can't is named by its offset and key, with what is lost; the exit is then 5.

    Example: kgitops registry check payments -c prod
    """
    from kgitops.apply.journal.damage import check_registry
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(project))
    with workspace.connected() as cluster:
        return _print_damages(*check_registry(cluster))


@registry.command("repair")
@with_groups
def repair(
    project: ProjectOptions,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Mend without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    lock_timeout: LockTimeout = None,
) -> int:
    """Mend the records of the registry that can't be read.

    The version before it counts again where the log still has it; else the record is given up, and
    what it owned is kept without an owner. All is shown first, and done under the lock.

    Example: kgitops registry repair payments -c prod --dry-run
    """
    from kgitops.apply.journal.damage import check_registry
    from kgitops.cli.running.progress import print_lock_event
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.signals import graceful
    from kgitops.cli.running.streams import agreed, print_notice, print_result
    from kgitops.workflow.execution import repair_damaged_registry
    from kgitops.workflow.project.locking import lock_timeout_ms, wait_until_free
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(project))
    timeout_ms = lock_timeout_ms(lock_timeout, workspace)
    with workspace.connected() as cluster:
        if not dry_run:
            timeout_ms = wait_until_free(cluster, timeout_ms, on_event=print_lock_event)
        count, damages = check_registry(cluster)
        code = _print_damages(count, damages)
        if not damages or dry_run:
            return code
        if not auto_approve and not agreed(
            "\nMend them so?", otherwise="pass --auto-approve, or --dry-run"
        ):
            print_notice("Nothing was mended.")
            return int(ExitCode.ERROR)
        with graceful() as interrupts:
            mended = repair_damaged_registry(
                cluster, damages, interrupts, print_lock_event, timeout_ms
            )
        if not mended:
            return 128 + (interrupts.signal or 0)
    print_result(f"Mended: {len(damages)}. Plan now, and read all that is planned.\n")
    return 0


@registry.command("export")
@with_groups
def export(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Where to write it. Default: stdout."),
    ] = None,
    *,
    project: ProjectOptions,
) -> None:
    """Save the registry as a file, which registry import restores.

    The file has every record but claims on the lock: owners, projects, runs, spent plans, virtual
    clusters and suspensions. It holds no password. The registry is only read.

    Example: kgitops registry export payments -c prod -o registry.json
    """
    from kgitops.apply.journal.importing import export_text
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.streams import check_place, print_notice, print_result, write_file
    from kgitops.model.wording import counted
    from kgitops.workflow.project.selection import open_workspace
    from kgitops.workflow.registry_backup import export_registry

    check_place(out)
    workspace = open_workspace(make_selection(project))
    with workspace.connected() as cluster:
        exported, holder = export_registry(cluster)
    if holder is not None:
        print_notice(
            f"{holder.holder} has held the lock since {holder.since}; the export has its changes "
            "up to now, so export again once it is done"
        )
    if out is None:
        print_result(export_text(exported))
        return
    write_file(out, [export_text(exported)])
    records = counted(len(exported.records), "record")
    print_notice(f"Exported {records} to {out}, {exported.digest}.")


@registry.command("import")
@with_groups
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that registry export wrote.")
    ],
    *,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace a registry that has owners, projects or runs."),
    ] = False,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Import without asking.")
    ] = False,
    lock_timeout: LockTimeout = None,
    project: ProjectOptions,
) -> int:
    """Restore the registry of this cluster from a file.

    It shows which records and owners would change, asks, and writes them under the lock. Topics,
    ACLs and quotas are not touched. Spent plans stay spent, and unfinished runs of the file are
    closed. Make a plan afterwards and review all of it.

    Example: kgitops registry import registry.json payments -c prod --replace
    """
    from kgitops.apply.journal.importing import plan_import
    from kgitops.cli.running.progress import print_lock_event
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.signals import graceful
    from kgitops.cli.running.streams import agreed, print_notice, print_result
    from kgitops.report.text.registry_import import render_import
    from kgitops.workflow.project.locking import lock_timeout_ms, wait_until_free
    from kgitops.workflow.project.selection import open_workspace
    from kgitops.workflow.registry_backup import import_export, load_export

    exported = load_export(file)
    workspace = open_workspace(make_selection(project))
    timeout_ms = lock_timeout_ms(lock_timeout, workspace)
    with workspace.connected() as cluster:
        timeout_ms = wait_until_free(cluster, timeout_ms, on_event=print_lock_event)
        plan = plan_import(
            cluster.registry.scan(),
            exported,
            cluster=workspace.target_name,
            cluster_id=cluster.cluster_id,
            file=str(file),
            may_replace=replace,
        )
        print_result(render_import(plan, exported, str(file), workspace.target_name))
        if plan.is_empty:
            return int(ExitCode.SUCCESS)
        if not auto_approve and not agreed("\nImport this?", otherwise="pass --auto-approve"):
            print_notice("Nothing was imported.")
            return int(ExitCode.ERROR)
        with graceful() as interrupts:
            imported = import_export(
                cluster,
                exported,
                plan,
                file=str(file),
                may_replace=replace,
                interrupted=interrupts,
                on_event=print_lock_event,
                lock_timeout_ms=timeout_ms,
            )
        if not imported:
            return 128 + (interrupts.signal or 0)
    print_result("Imported. Plan now, and review all that is planned.\n")
    return int(ExitCode.SUCCESS)


@registry.command("release")
@with_groups
def release(
    project: ProjectOptions,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="UID", help="The project that may take the objects over."),
    ] = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="End the release: nobody may take them over.")
    ] = False,
    lock_timeout: LockTimeout = None,
) -> int:
    """Let another project take over this project's objects.

    Nothing changes hands yet: the other project claims them with metadata.formerly or
    metadata.takeFrom, and applies a plan that takes over. Until then --withdraw ends the release.

    Example: kgitops registry release payments --to 6f1c0c5e-6f0e-4a52-9d2b-0d7f3f1b9a11 -c prod
    """
    from kgitops.apply.lock import releasable
    from kgitops.cli.running.progress import print_lock_event
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.signals import graceful
    from kgitops.cli.running.streams import print_notice, print_sentence
    from kgitops.model.errors import UsageError
    from kgitops.model.wording import counted
    from kgitops.workflow.execution import release_project
    from kgitops.workflow.project.locking import lock_timeout_ms, wait_until_free
    from kgitops.workflow.project.selection import open_workspace

    if (to is None) != withdraw:
        raise UsageError(
            "give --to UID to release the project's objects, or --withdraw to end that"
        )
    workspace = open_workspace(make_selection(project))
    own, target = workspace.project, workspace.target_name
    timeout_ms = lock_timeout_ms(lock_timeout, workspace)
    with workspace.connected() as cluster:
        timeout_ms = wait_until_free(cluster, timeout_ms, on_event=print_lock_event)
        state, count = releasable(cluster, own, to)
        released = state.releases.get(own.identity)
        if released == to:
            print_notice(f"It is so already on {target}; nothing was written.")
            return 0
        with graceful() as interrupts:
            if not release_project(cluster, own, to, interrupts, print_lock_event, timeout_ms):
                return 128 + (interrupts.signal or 0)
    objects = f"{counted(count, 'object')} of {own.name} ({own.identity}) on {target}"
    if to is None:
        print_sentence(f"Withdrawn: {released} may no longer take over {objects}.\n")
        return 0
    other = state.projects.get(to)
    print_sentence(
        f"Released: {to}{f' ({other})' if other else ''} may take over {objects}. "
        "To end that: kgitops registry release --withdraw.\n"
    )
    return 0


def _print_damages(count: int, damages: "tuple[object, ...]") -> int:
    from kgitops.cli.running.streams import print_sentence

    lines = [f"  {damage}\n" for damage in damages]
    if not damages:
        text = f"{count} records, all of them sound.\n" if count else "There is no registry.\n"
        print_sentence(text)
        return int(ExitCode.SUCCESS)
    print_sentence(f"{count} records, {len(damages)} of them can't be used:\n{''.join(lines)}")
    return int(ExitCode.REFUSED)
