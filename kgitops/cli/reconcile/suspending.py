"""``kgitops reconcile suspend`` and ``resume``: kept on the cluster, for every replica."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from kgitops.cli.reconcile.flow import ReconcileCommand
from kgitops.cli.reconcile.options import SuspendOptions, parse_moment
from kgitops.cli.running.progress import print_upgrade
from kgitops.cli.running.signals import graceful
from kgitops.cli.running.streams import print_notice, print_result
from kgitops.model import clock as moments
from kgitops.model.clock import SystemClock
from kgitops.model.errors import UsageError
from kgitops.model.json.records import Record
from kgitops.reconcile.status import Suspension
from kgitops.reconcile.suspension import suspension_key, suspension_record, write_suspension
from kgitops.workflow.execution import lock_holder
from kgitops.workflow.project.selection import Workspace, open_workspace

SUSPEND, RESUME = "suspend", "resume"
_PATIENCE_S = 60.0
_LONGEST = 500


def action_of(paths: Sequence[Path]) -> tuple[str | None, list[Path]]:
    """The action that the first word names, None for turns; and the other words."""
    if paths and str(paths[0]) in (SUSPEND, RESUME):
        return str(paths[0]), list(paths[1:])
    return None, list(paths)


def run_suspension(action: str, command: ReconcileCommand, options: SuspendOptions) -> int:
    """Suspend or resume reconciliation on each cluster that was named; the exit code.

    Raises:
        UsageError: an option is missing, or is not for this.
        KgitopsError: it can't be written; nothing else is changed.
    """
    _check(action, options)
    now = SystemClock().now()
    until = None if options.until is None else parse_moment(options.until, "--until", now)
    for selection in command.selections():
        workspace = open_workspace(selection)
        identity = None if options.all_projects else workspace.project.identity
        suspension = Suspension(
            project=identity,
            by=lock_holder().partition(" ")[0],
            since=moments.to_text(now),
            reason=" ".join((options.reason or "").split())[:_LONGEST],
            until=None if until is None else moments.to_text(until),
        )
        entry: Record = (suspension_key(identity), None)
        if action == SUSPEND:
            entry = suspension_record(suspension)
        code = _write(workspace, entry)
        if code:
            return code
        what = "every project" if identity is None else workspace.project.name
        verb = "Suspended" if action == SUSPEND else "Resumed"
        end = f" until {suspension.until}" if action == SUSPEND and suspension.until else ""
        print_result(f"{verb}: {what} on {workspace.target_name}{end}.")
    return 0


def _check(action: str, options: SuspendOptions) -> None:
    if action == SUSPEND and not (options.reason or "").strip():
        raise UsageError("suspend needs a reason, which everybody sees; give --reason TEXT")
    if action == RESUME and (options.reason or options.until):
        raise UsageError("--reason and --until are for suspend; leave them out")


def _write(workspace: Workspace, entry: Record) -> int:
    with ExitStack() as stack:
        interrupts = stack.enter_context(graceful())
        cluster = stack.enter_context(workspace.connected())
        if entry[1] is None:
            known = {item.key: item.value for item in cluster.registry.read() or ()}
            if known.get(entry[0]) is None:
                print_notice(f"It was not suspended on {workspace.target_name}.")
                return 0
        written = write_suspension(
            cluster,
            entry,
            holder=lock_holder(),
            clock=SystemClock(),
            patience_s=_PATIENCE_S,
            interrupted=interrupts,
            on_event=print_upgrade,
        )
        return 0 if written else 128 + (interrupts.signal or 0)
