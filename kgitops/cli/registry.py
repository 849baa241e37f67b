"""``kgitops registry``: the records of who owns what, checked and mended."""

from typing import Annotated

import typer

from kgitops.cli.running.options import ClusterName, Paths

registry = typer.Typer(
    help="The records on the cluster of who owns what: checked, and mended.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@registry.command("check")
def check(paths: Paths = None, cluster: ClusterName = None) -> int:
    """See whether every record of the registry can be read.

    Each that can't is named by its offset and key, with what is lost; the exit is then 5.

    Example: kgitops registry check payments -c prod
    """
    from kgitops.cli.running.selection import make_selection
    from kgitops.workflow.commands.registry import look_at_registry
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(paths, cluster))
    with workspace.connected() as current:
        return _tell(*look_at_registry(current))


@registry.command("repair")
def repair(
    paths: Paths = None,
    cluster: ClusterName = None,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Mend without asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
) -> int:
    """Mend the records of the registry that can't be read.

    What stood under the key before counts again where the log still has it; else it is given up,
    and what it owned is kept and owned by nobody. It is shown first, and done under the lock.

    Example: kgitops registry repair payments -c prod --dry-run
    """
    import sys

    from kgitops.cli.console.signals import graceful
    from kgitops.cli.console.streams import print_notice, print_result
    from kgitops.cli.running.selection import make_selection
    from kgitops.model.errors import UsageError
    from kgitops.workflow.commands.registry import look_at_registry, mend
    from kgitops.workflow.project.selection import open_workspace

    workspace = open_workspace(make_selection(paths, cluster))
    with workspace.connected() as current:
        count, damages = look_at_registry(current)
        code = _tell(count, damages)
        if not damages or dry_run:
            return code
        if not auto_approve:
            if sys.stdin is None or not sys.stdin.isatty():
                raise UsageError("there is nobody to ask; pass --auto-approve, or --dry-run")
            print("\nMend them so? Only 'yes' is taken: ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip() != "yes":
                print_notice("Nothing was mended.")
                return 1
        with graceful() as interrupts:
            done = mend(current, damages, interrupts)
        if not done:
            return 128 + (interrupts.signal or 0)
    print_result(f"Mended: {len(damages)}. Plan now, and read all that is planned.\n")
    return 0


def _tell(count: int, damages: "tuple[object, ...]") -> int:
    from kgitops.cli.console.streams import print_result
    from kgitops.model.verdict import ExitCode

    lines = [f"  {damage}\n" for damage in damages]
    if not damages:
        said = f"{count} records, all of them sound.\n" if count else "There is no registry.\n"
        print_result(said)
        return int(ExitCode.SUCCESS)
    print_result(f"{count} records, {len(damages)} of them can't be used:\n{''.join(lines)}")
    return int(ExitCode.REFUSED)
