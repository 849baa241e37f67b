"""One turn: read, plan, apply what may be applied by itself, and leave the rest as a sealed plan.

The stages are those of every plan and apply (``workflow.pipeline``, ``workflow.execution``). The
lock is held only while something is applied, and what can't be known or decided applies nothing.
"""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.apply.context import ApplyContext, ApplySettings
from kgitops.apply.journal.reading import latest_values
from kgitops.apply.secrets.passwords import PasswordSettings
from kgitops.cluster.port import Cluster
from kgitops.manifests.files import names_from
from kgitops.model import clock as moments
from kgitops.model.clock import Clock, SystemClock
from kgitops.model.errors import KgitopsError, StaleError
from kgitops.model.verdict import ExitCode, Reason
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import PendingPlan, TurnResult
from kgitops.reconcile.suspension import find_suspension
from kgitops.reconcile.turns.fights import HealHistory
from kgitops.reconcile.turns.pending import PlanShelf, changes_digest, pending_plan
from kgitops.reconcile.turns.permission import Permission, forbidden, healed_by, permission_of
from kgitops.reconcile.turns.planning import Planner, disabled_addresses
from kgitops.reconcile.turns.stages import Stages
from kgitops.reconcile.turns.turn_report import TurnReport
from kgitops.reconcile.turns.unfinished import others_unfinished, own_unfinished
from kgitops.workflow.execution import execute_plan, execute_resume
from kgitops.workflow.loading import Loaded, loaded
from kgitops.workflow.pipeline import seal_now
from kgitops.workflow.project.selection import Selection, Workspace, open_workspace


class TurnMemory(Struct, frozen=True, kw_only=True):
    """The knowledge that a turn hands to the next one of the same project and cluster."""

    number: int = 0
    history: HealHistory = field(default_factory=HealHistory)
    pending_changes: str = ""
    pending_since: str = ""


class TurnContext(Struct, frozen=True, kw_only=True):
    """The surroundings of a turn: where plans wait, the clock, and who may stop it.

    ``interrupted`` returns the number of the signal that asks it to end, or None. ``is_current``
    tells whether the manifests are still those of the revision: a folder may change meanwhile.
    ``is_copy``: the revision's folder is a copy, so its files are named from there.
    """

    plans: Path | None = None
    clock: Clock = field(default_factory=SystemClock)
    interrupted: Callable[[], int | None] = lambda: None
    is_current: Callable[[Revision], bool] = lambda _: True
    is_copy: bool = False
    on_stage: Callable[[str], None] = lambda _: None
    on_event: Callable[[object], None] = lambda _: None
    parallelism: int = 10
    timeout_ms: int = ApplySettings().timeout_ms


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
    turn = _Turn(selection, revision, memory, context, report)
    naming = names_from(revision.folder) if context.is_copy else nullcontext()
    try:
        with naming:
            turn.run()
    except KgitopsError as error:
        report.stopped(error.reasons)
    except OSError as error:
        sentence = f"{error.filename or 'a file'}: {(error.strerror or str(error)).lower()}"
        report.stopped([Reason(exit=ExitCode.ERROR, sentence=f"{sentence}; see to it")])
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
        self._stages = Stages(context.clock, report.stages, context.on_stage)

    def run(self) -> None:
        """Open the project and the cluster, and go on there."""
        self._stages("loading the manifests")
        workspace = open_workspace(self._selection)
        self._report.project = workspace.project.name
        self._report.cluster = workspace.target_name
        self._report.mode = workspace.reconcile.mode
        with loaded(workspace, self._stages) as declared:
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
        latest = latest_values(entries)
        report.registry_records = len(latest)
        now = self._context.clock.now()
        report.suspension = find_suspension(latest, workspace.project.identity, now)
        report.others_unfinished = others_unfinished(latest, workspace.project)
        suspended = settings.suspend or report.suspension is not None
        report.suspended = suspended
        permission = permission_of(settings, suspended=suspended)
        unfinished = own_unfinished(latest, workspace.project)
        if unfinished is not None:
            report.unfinished_run = unfinished.run.id
            waiting = unfinished.waits_for(permission)
            if permission.applies and not waiting:
                if not self._resumed(workspace, declared, cluster):
                    return
            else:
                # A new plan would close the run as superseded, so nothing else is applied either.
                permission = replace(permission, applies=False)
                report.unfinished_waits(unfinished.run, waiting)
        self._plan_and_apply(planner, permission)

    def _plan_and_apply(self, planner: Planner, permission: Permission) -> None:
        report, settings = self._report, planner.workspace.reconcile
        current = planner.read()
        plan = planner.whole(current)
        report.disabled = len(disabled_addresses(planner.declared.desired))
        ticks = self._context.clock.monotonic()
        history = self.memory.history.seen(healed_by(plan), ticks, settings)
        self.memory = replace(self.memory, history=history)
        permission = replace(permission, left_alone=history.fights)
        report.planned(plan, history.fights)
        part = planner.part(current, plan, permission)
        if part is not None:
            signal = self._context.interrupted()
            if signal is not None:
                report.interrupted(signal)
                return
            self._check_current()
            sealed = planner.sealed(part, current, permission)
            if not self._applied(planner, sealed):
                return
            current = planner.read()
            plan = planner.whole(current)
        self._leave(plan, permission, lambda: seal_now(plan, current))

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
        result = execute_plan(
            sealed,
            planner.workspace,
            planner.declared.policies,
            # The plan was made of the manifests in this turn: it names no other program.
            self._apply_context(planner.workspace, planner.cluster, may_act=True),
        )
        healed = healed_by(sealed.plan)
        ticks = self._context.clock.monotonic()
        self.memory = replace(self.memory, history=self.memory.history.healed(healed, ticks))
        self._report.applied(sealed, result, healed)
        return not result.verdict.stops

    def _resumed(self, workspace: Workspace, declared: Loaded, cluster: Cluster) -> bool:
        """Go on with the project's unfinished run; False if it is still not finished."""
        self._stages("applying")
        result = execute_resume(
            workspace, declared.policies, self._apply_context(workspace, cluster, may_act=False)
        )
        if result is None:
            return True
        self._report.resumed(result)
        return not result.verdict.stops

    def _leave(self, plan: Plan, permission: Permission, seal: Callable[[], SealedPlan]) -> None:
        """Leave what may not be applied as a sealed plan, or nothing where nothing is left."""
        report = self._report
        waits = bool(forbidden(plan, permission)) or plan.verdict.stops
        report.left(plan, waits=waits)
        shelf = self._shelf(report.project, report.cluster)
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
        report.pending = self._pending(shelf, plan, seal, since)

    def _pending(
        self,
        shelf: PlanShelf | None,
        plan: Plan,
        seal: Callable[[], SealedPlan],
        since: str,
    ) -> PendingPlan:
        if shelf is None:
            return pending_plan(seal(), None, since)
        found = shelf.find(plan, self._context.clock.now())
        if found is None:
            sealed = seal()
            found = sealed, shelf.put(sealed)
        return pending_plan(*found, since)

    def _shelf(self, project: str, cluster: str) -> PlanShelf | None:
        plans = self._context.plans
        return None if plans is None else PlanShelf(plans, project, cluster)

    def _apply_context(
        self, workspace: Workspace, cluster: Cluster, *, may_act: bool
    ) -> ApplyContext:
        timeout_ms = self._context.timeout_ms
        return ApplyContext(
            cluster=cluster,
            settings=ApplySettings(
                parallelism=self._context.parallelism,
                timeout_ms=timeout_ms,
                lease_ms=2 * timeout_ms,
            ),
            on_event=self._context.on_event,
            interrupted=self._context.interrupted,
            passwords=PasswordSettings(base=workspace.base, may_act=may_act),
        )
