"""``kgitops reconcile suspend`` and ``resume``: kept on the cluster, for every replica."""

from collections.abc import Callable, Sequence
from pathlib import Path

from kgitops.apply.journal.reading import latest_values, suspension_key
from kgitops.cli.reconcile.flow import ReconcileCommand
from kgitops.cli.reconcile.options import SuspendOptions, parse_moment
from kgitops.cli.running.progress import print_lock_event
from kgitops.cli.running.signals import Interrupts, graceful
from kgitops.cli.running.streams import print_notice, print_sentence
from kgitops.cluster.port import Cluster
from kgitops.model import clock as moments
from kgitops.model.clock import SystemClock
from kgitops.model.errors import UsageError
from kgitops.model.json.records import Record
from kgitops.reconcile.status import Suspension
from kgitops.reconcile.suspension import suspension_record, write_records
from kgitops.reconcile.turns.identity import confirmation_record, identity_of
from kgitops.workflow.project.locking import lock_holder, lock_timeout_ms
from kgitops.workflow.project.selection import Workspace, open_workspace

SUSPEND, RESUME = "suspend", "resume"
_PATIENCE_MS = 60_000
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
        timeout_ms = lock_timeout_ms(options.lock_timeout, workspace)
        if options.lock_timeout is None:
            timeout_ms = max(timeout_ms, _PATIENCE_MS)
        identity = None if options.all_projects else workspace.project.identity
        suspension = Suspension(
            project=identity,
            by=lock_holder().partition(" ")[0],
            since=moments.to_text(now),
            reason=" ".join((options.reason or "").split())[:_LONGEST],
            until=None if until is None else moments.to_text(until),
        )
        what = "every project" if identity is None else workspace.project.name
        where = f"{what} on {workspace.target_name}"
        if action == SUSPEND:
            code = _suspend(workspace, suspension, where, timeout_ms)
        else:
            code = _resume(workspace, suspension, where, timeout_ms)
        if code:
            return code
    return 0


def _check(action: str, options: SuspendOptions) -> None:
    if action == SUSPEND and not (options.reason or "").strip():
        raise UsageError("suspend needs a reason, which everybody sees; give --reason TEXT")
    if action == RESUME and (options.reason or options.until):
        raise UsageError("--reason and --until are for suspend; leave them out")


def _suspend(workspace: Workspace, suspension: Suspension, where: str, timeout_ms: int) -> int:
    with graceful() as interrupts, workspace.connected() as cluster:
        code = _write(cluster, interrupts, lambda: [suspension_record(suspension)], timeout_ms)
    if not code:
        until = f" until {suspension.until}" if suspension.until else ""
        print_sentence(f"Suspended: {where}{until}.")
    return code


def _resume(workspace: Workspace, resumed: Suspension, where: str, timeout_ms: int) -> int:
    """End a suspension, and confirm the cluster to loops that knew another one at its address."""
    key = suspension_key(resumed.project)
    with graceful() as interrupts, workspace.connected() as cluster:
        latest = latest_values(cluster.registry.read() or ())

        def entries() -> list[Record]:
            identity = identity_of(cluster)
            confirmed = confirmation_record(
                resumed.project, identity, by=resumed.by, at=resumed.since
            )
            return [*([(key, None)] if key in latest else []), confirmed]

        code = _write(cluster, interrupts, entries, timeout_ms)
        if code:
            return code
        if key in latest:
            print_sentence(f"Resumed: {where}.")
        else:
            print_notice(f"It was not suspended on {workspace.target_name}.")
        identity = identity_of(cluster)
    print_sentence(
        f"Confirmed: {workspace.target_name} is the cluster {identity.cluster_id} with the "
        f"registry {identity.registry_topic_id}."
    )
    return 0


def _write(
    cluster: Cluster,
    interrupts: Interrupts,
    entries: Callable[[], Sequence[Record]],
    timeout_ms: int,
) -> int:
    written = write_records(
        cluster,
        entries,
        holder=lock_holder(),
        clock=SystemClock(),
        lock_timeout_ms=timeout_ms,
        interrupted=interrupts,
        on_event=print_lock_event,
    )
    return 0 if written else 128 + (interrupts.signal or 0)
