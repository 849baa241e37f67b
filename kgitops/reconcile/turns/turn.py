"""One turn: read, plan, apply what may be applied by itself, and leave the rest as a sealed plan.

The stages are those of every plan and apply (``workflow.pipeline``, ``workflow.execution``). The
lock is held only while something is applied, and what can't be known or decided applies nothing.
"""

from collections.abc import Callable
from contextlib import nullcontext, suppress

from msgspec.structs import replace

from kgitops.apply.context import ApplyContext
from kgitops.apply.events import Event, RegistryUpgraded
from kgitops.apply.journal.damage import require_sound
from kgitops.apply.journal.reading import Latest, latest_values
from kgitops.cluster.port import Cluster
from kgitops.manifests.files import names_from
from kgitops.model import clock as moments
from kgitops.model.errors import FindingsError, KgitopsError, SafetyError, StaleError
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import TurnResult
from kgitops.reconcile.suspension import SuspendedError, suspensions_of
from kgitops.reconcile.turns.fights import HealHistory
from kgitops.reconcile.turns.identity import identity_of, recognized
from kgitops.reconcile.turns.pending import changes_digest
from kgitops.reconcile.turns.permission import Permission, forbidden, healed_by, permission_of
from kgitops.reconcile.turns.planning import Planner, disabled_addresses, require_all_files
from kgitops.reconcile.turns.shelf import PlanShelf, leave_plan
from kgitops.reconcile.turns.stages import Stages
from kgitops.reconcile.turns.surroundings import TurnContext, TurnMemory
from kgitops.reconcile.turns.turn_report import TurnReport
from kgitops.reconcile.turns.unfinished import (
    lock_of_others,
    others_unfinished,
    own_unfinished,
    run_of_others,
)
from kgitops.reconcile.wording import change_sentence
from kgitops.workflow.execution import execute_plan, execute_resume
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.pipeline import seal_now
from kgitops.workflow.project.selection import Selection, Workspace, of_folder, open_workspace


def take_turn(
    selection: Selection,
    revision: Revision,
    memory: TurnMemory,
    context: TurnContext,
    *,
    names: tuple[str, str] = ("", ""),
) -> tuple[TurnResult, TurnMemory]:
    """Take one turn; never raises for what stops it, which is in the result.

    ``names`` are the project's and the cluster's, as far as they are known before it is read.
    """
    report = TurnReport(context.clock, revision, memory.number + 1, names)
    report.cluster_change = memory.known.change if memory.known else None
    turn = _Turn(selection, revision, memory, context, report)
    try:
        turn.run()
    except KgitopsError as error:
        report.stopped(error.reasons, by_machine=isinstance(error.__cause__, OSError))
    except OSError as error:
        sentence = f"{error.filename or 'a file'}: {(error.strerror or str(error)).lower()}"
        reason = Reason(exit=ExitCode.ERROR, sentence=f"{sentence}; see to it")
        report.stopped([reason], by_machine=True)
    except Exception as error:  # noqa: BLE001 (a loop goes on, and says what happened)
        report.failed_unexpectedly(error)
    return report.result(), replace(turn.memory, number=memory.number + 1)


class _Turn:
    """The course of one turn; what it learns goes into the report as it goes."""

    def __init__(
        self,
        selection: Selection,
        revision: Revision,
        memory: TurnMemory,
        context: TurnContext,
        report: TurnReport,
    ) -> None:
        self._selection = selection
        self._revision = revision
        self.memory = memory
        self._context = context
        self._report = report
        self._is_loaded = False
        self._stages = Stages(context.clock, report.stages, context.on_stage)

    def run(self) -> None:
        """Open the project and the cluster, and continue there.

        Where the revision can't be loaded, the cluster is compared with the last one that could.
        """
        good = self.memory.loaded
        try:
            self._take(self._revision)
        except KgitopsError as error:
            if isinstance(error, FindingsError):
                # A config that the brokers don't know shows when the revision is loaded already.
                self._is_loaded = False
                self.memory = replace(self.memory, loaded=good)
            if self._is_loaded or good is None or not self._context.is_copy:
                raise  # what lies in a user's folder is not there any more as it was
            self._report.stopped(error.reasons)
            self._report.last_good = good.name
            self._take(good)

    def _take(self, revision: Revision) -> None:
        """Take the turn with a revision; with any but the newest, nothing is applied or left."""
        context, report = self._context, self._report
        is_newest = revision is self._revision
        self._stages("loading the manifests")
        with names_from(revision.folder) if context.is_copy else nullcontext():
            workspace = open_workspace(
                self._selection if is_newest else of_folder(self._selection, revision.folder)
            )
            report.project = workspace.project.name
            report.cluster = workspace.target_name
            report.mode = workspace.reconcile.mode
            if is_newest:
                context.on_workspace(workspace)
            with context.alone(workspace), loaded(workspace, self._stages) as declared:
                if context.is_copy:
                    require_all_files(declared.desired)
                if is_newest:
                    self._is_loaded = True
                    self.memory = replace(self.memory, loaded=revision)
                self._stages("connecting")
                with workspace.connected(declared.policies.bundle) as cluster:
                    self._on_cluster(workspace, declared, cluster)
                self._stages.end()

    def _on_cluster(self, workspace: Workspace, declared: Loaded, cluster: Cluster) -> None:
        report, settings = self._report, workspace.reconcile
        planner = Planner(
            cluster=cluster, declared=declared, workspace=workspace, on_stage=self._stages
        )
        self._stages("reading the registry")
        entries = cluster.registry.read() or ()
        require_sound(entries)
        latest = latest_values(entries)
        report.registry_records = len(latest)
        if not workspace.cluster.in_memory:
            self._recognize(workspace, cluster, latest)
        report.others_unfinished = others_unfinished(latest, workspace.project)
        report.suspended = self._is_suspended(workspace, cluster, latest) or settings.suspend
        permission = permission_of(settings, suspended=report.suspended)
        if not self._is_loaded:
            permission = replace(permission, applies=False)
        unfinished = own_unfinished(latest, workspace.project)
        ticks = self._context.clock.monotonic()
        if unfinished is not None:
            report.unfinished_run = unfinished.run.id
            waiting = unfinished.waits_for(permission)
            if permission.applies and not waiting:
                if not self._resumed(workspace, declared, cluster):
                    return
            else:
                held = lock_of_others(cluster, entries, ticks, self.memory.lock)
                if held is not None:
                    self.memory = replace(self.memory, lock=held)
                    raise run_of_others(held, unfinished.run)
                # A new plan would close the run as superseded, so nothing else is applied either.
                permission = replace(permission, applies=False)
                report.unfinished_waits(unfinished.run, waiting)
        self._plan_and_apply(planner, permission)

    def _is_suspended(self, workspace: Workspace, cluster: Cluster, latest: Latest) -> bool:
        """Return whether a suspension holds, by the earlier of this clock and the brokers'."""
        context = self._context.of_apply(workspace, cluster, may_act=False)
        suspensions = suspensions_of(
            latest,
            workspace.project.identity,
            context.earlier_now(),
            self._context.clock.monotonic(),
            self.memory.suspensions,
        )
        self.memory = replace(self.memory, suspensions=suspensions)
        self._report.suspension = suspensions[0].suspension if suspensions else None
        return bool(suspensions)

    def _require_running(self, workspace: Workspace, cluster: Cluster) -> None:
        """Look again under the lock: the brokers' time is known there, whatever this clock says.

        Raises:
            SuspendedError: a suspension holds; nothing was applied.
        """
        latest = latest_values(cluster.registry.read() or ())
        if self._is_suspended(workspace, cluster, latest):
            self._report.suspended = True
            raise SuspendedError("reconciliation is suspended; nothing was applied")

    def _recognize(self, workspace: Workspace, cluster: Cluster, latest: Latest) -> None:
        """Refuse a cluster or registry that is not the one of the last turn, until it is confirmed.

        Raises:
            SafetyError: it is another one, which nobody has confirmed.
            KgitopsError: what is known of it can't be kept.
        """
        shelf, name = self._shelf(), workspace.target_name
        before = self.memory.known if self.memory.known_as == name else None
        if before is None and shelf:
            before = shelf.read_known()
        known = recognized(
            before,
            identity_of(cluster),
            latest,
            workspace.project.identity,
            moments.to_text(self._context.clock.now()),
        )
        self._report.cluster_change = known.change
        if shelf and known != before:
            shelf.write_known(known)  # or else the next turn tries again
        self.memory = replace(self.memory, known=known, known_as=name)
        if known.change is not None:
            raise SafetyError(change_sentence(known.change, name))

    def _plan_and_apply(self, planner: Planner, permission: Permission) -> None:
        report, settings = self._report, planner.workspace.reconcile
        current = planner.read()
        plan = planner.whole(current)
        report.disabled = len(disabled_addresses(planner.declared.desired))
        ticks = self._context.clock.monotonic()
        before = self._history()
        history = before.seen(healed_by(plan), ticks, settings)
        report.planned(plan, history.fights)
        self._remember(before, history)
        permission = replace(permission, left_alone=history.fights)
        if planner.misses_files(plan):
            permission = replace(permission, applies=False)
        part = planner.part(current, plan, permission)
        if part is not None:
            signal = self._context.interrupted()
            if signal is not None:
                report.interrupted(signal)
                return
            self._check_current()
            sealed = planner.sealed(part, current, permission, self._context.clock.now())
            if not self._applied(planner, sealed):
                return
            current = planner.read()
            plan = planner.whole(current)
        if not self._is_loaded:
            report.left(plan, waits=False)
            return
        self._leave(plan, permission, lambda: seal_now(plan, current, self._context.clock.now()))

    def _check_current(self) -> None:
        """Refuse to apply what was planned from files that changed while they were read."""
        if not self._context.is_current(self._revision):
            raise StaleError(
                "the manifests changed while they were planned, so nothing is applied; the next "
                "turn plans them again"
            )

    def _applied(self, planner: Planner, sealed: SealedPlan) -> bool:
        """Apply a sealed plan; False if it was not applied whole."""
        self._stages("applying")
        try:
            result = execute_plan(
                sealed,
                planner.workspace,
                planner.declared.policies,
                # The plan was made of the manifests in this turn: it names no other program.
                self._apply_context(planner.workspace, planner.cluster, may_act=True),
            )
        except SuspendedError:
            return False
        if not planner.workspace.cluster.in_memory:
            self._keep_registry(planner.cluster)
        healed = healed_by(sealed.plan)
        ticks = self._context.clock.monotonic()
        self._report.applied(sealed, result, healed)
        if healed:
            before = self._history()
            self._remember(before, before.healed(healed, ticks))
        return not result.verdict.stops

    def _keep_registry(self, cluster: Cluster) -> None:
        """Remember the registry that the first apply has created."""
        known = self.memory.known
        if known is None or known.confirmed is None or known.confirmed.registry_topic_id:
            return
        with suppress(KgitopsError):  # the next turn does so
            known = replace(known, confirmed=identity_of(cluster))
            self.memory = replace(self.memory, known=known)
            if (shelf := self._shelf()) is not None:
                shelf.write_known(known)

    def _resumed(self, workspace: Workspace, declared: Loaded, cluster: Cluster) -> bool:
        """Go on with the project's unfinished run; False if it is still not finished."""
        self._stages("applying")
        try:
            result = execute_resume(
                workspace, declared.policies, self._apply_context(workspace, cluster, may_act=False)
            )
        except SuspendedError:
            return False
        if result is None:
            return True
        self._report.resumed(result)
        return not result.verdict.stops

    def _apply_context(
        self, workspace: Workspace, cluster: Cluster, *, may_act: bool
    ) -> ApplyContext:
        """Build the surroundings of an apply, whose notes go into the report."""
        context = self._context.of_apply(workspace, cluster, may_act=may_act)

        def on_event(event: Event) -> None:
            if isinstance(event, RegistryUpgraded):
                self._report.notes.append(event.sentence)
            context.on_event(event)

        return replace(
            context,
            on_event=on_event,
            may_begin=lambda: self._require_running(workspace, cluster),
        )

    def _leave(self, plan: Plan, permission: Permission, seal: Callable[[], SealedPlan]) -> None:
        """Leave what may not be applied as a sealed plan, or nothing where nothing is left."""
        report = self._report
        waits = bool(forbidden(plan, permission)) or plan.verdict.stops
        report.left(plan, waits=waits)
        shelf = self._shelf()
        if not waits:
            if shelf:
                shelf.clear()
            self.memory = replace(self.memory, pending_changes="", pending_since="")
            return
        self._stages("sealing")
        changes, now = changes_digest(plan), self._context.clock.now()
        since = self.memory.pending_since
        if self.memory.pending_changes != changes or not since:
            since = moments.to_text(now)
        self.memory = replace(self.memory, pending_changes=changes, pending_since=since)
        report.pending = leave_plan(shelf, plan, seal, since, now)

    def _history(self) -> HealHistory:
        """The heals so far, also those of an earlier process."""
        shelf, clock = self._shelf(), self._context.clock
        if self.memory.history is not None:
            return self.memory.history
        return shelf.read_heals(clock.now(), clock.monotonic()) if shelf else HealHistory()

    def _remember(self, before: HealHistory, history: HealHistory) -> None:
        """Keep the heals, also for a later process where they changed."""
        shelf, clock = self._shelf(), self._context.clock
        self.memory = replace(self.memory, history=history)
        if shelf and before != history:
            shelf.write_heals(history, clock.now(), clock.monotonic())

    def _shelf(self) -> PlanShelf | None:
        return self._context.shelf(self._report.project, self._report.cluster)
