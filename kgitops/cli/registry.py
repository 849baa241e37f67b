"""``kgitops registry``: check and repair the records of who owns what."""

from typing import Annotated

import typer

from kgitops.cli.running.options import ProjectOptions
from kgitops.cli.running.parameters import with_groups
from kgitops.model.verdict import ExitCode

registry = typer.Typer(
    help="The records on the cluster of who owns what: checked, and mended.",
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
    from kgitops.apply.journal.repair import check_registry
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
) -> int:
    """Mend the records of the registry that can't be read.

    The version before it counts again where the log still has it; else the record is given up, and
    what it owned is kept without an owner. All is shown first, and done under the lock.

    Example: kgitops registry repair payments -c prod --dry-run
    """
    from kgitops.apply.journal.repair import check_registry
    from kgitops.cli.running.progress import print_upgrade
    from kgitops.cli.running.selection import make_selection
    from kgitops.cli.running.signals import graceful
    from kgitops.cli.running.streams import agreed, print_notice, print_result
    from kgitops.workflow.execution import mend_registry
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(project))
    with workspace.connected() as cluster:
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
            mended = mend_registry(cluster, damages, interrupts, print_upgrade)
        if not mended:
            return 128 + (interrupts.signal or 0)
    print_result(f"Mended: {len(damages)}. Plan now, and read all that is planned.\n")
    return 0


def _print_damages(count: int, damages: "tuple[object, ...]") -> int:
    from kgitops.cli.running.streams import print_result

    lines = [f"  {damage}\n" for damage in damages]
    if not damages:
        text = f"{count} records, all of them sound.\n" if count else "There is no registry.\n"
        print_result(text)
        return int(ExitCode.SUCCESS)
    print_result(f"{count} records, {len(damages)} of them can't be used:\n{''.join(lines)}")
    return int(ExitCode.REFUSED)
