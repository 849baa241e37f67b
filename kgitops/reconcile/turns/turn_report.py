"""The report of a turn while it is taken: what it learned so far, and at its end the result."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from kgitops.apply.result import ApplyResult
from kgitops.apply.steps import Run
from kgitops.model import clock as moments
from kgitops.model.clock import Clock
from kgitops.model.resources.addresses import kind_of
from kgitops.model.resources.kinds import KIND_OF_SORT
from kgitops.model.verdict import ExitCode, Reason, Verdict, decide
from kgitops.model.wording import resume_command, shortened
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Change, Drift, Plan
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.reconcile.revision import Revision
from kgitops.reconcile.status import ClusterChange, PendingPlan, Suspension, TurnOutcome, TurnResult
from kgitops.reconcile.turns.pending import count_actions, count_levels

_NOT_DRIFT = ("accepted", "unfinished")
_SIGINT = 2
_MOST_REASONS = 20
_LONGEST = 1_000
_SIGNALLED = (ExitCode.INTERRUPTED, ExitCode.TERMINATED)
_REFUSING = (ExitCode.USAGE, ExitCode.ERROR, ExitCode.DENIED, ExitCode.REFUSED)


class TurnReport:
    """Collects what a turn finds; what is not known yet when it stops stays empty."""

    def __init__(
        self, clock: Clock, revision: Revision, number: int, names: tuple[str, str]
    ) -> None:
        self._clock = clock
        self._revision = revision
        self._number = number
        self._began: datetime = clock.now()
        self._ticks = clock.monotonic()
        self._reasons: list[Reason] = []
        self._changed = False
        self._failed = False
        self.project, self.cluster = names
        self.mode = ""
        self.last_good: str | None = None
        self.cluster_change: ClusterChange | None = None
        self.stages: dict[str, float] = {}
        self.registry_records: int | None = None
        self.suspension: Suspension | None = None
        self.suspended = False
        self.others_unfinished: tuple[str, ...] = ()
        self.unfinished_run: str | None = None
        self.resumed_run: str | None = None
        self.disabled = 0
        self.pending: PendingPlan | None = None
        self.notes: list[str] = []
        self._plan: Plan | None = None
        self._left: Plan | None = None
        self._waits = False
        self._fights: tuple[str, ...] = ()
        self._applied: SealedPlan | None = None
        self._healed: tuple[str, ...] = ()

    def planned(self, plan: Plan, fights: Collection[str]) -> None:
        """Note the first plan of the turn."""
        self._plan = plan
        self._fights = tuple(sorted(fights))

    def applied(self, sealed: SealedPlan, result: ApplyResult, healed: Collection[str]) -> None:
        """Note what was applied, and how it ended."""
        self._changed = self._changed or bool(result.done)
        self._reasons += result.verdict.reasons
        if not result.verdict.stops:
            self._applied = sealed
            self._healed = tuple(sorted(healed))

    def resumed(self, result: ApplyResult) -> None:
        """Note that an unfinished run was gone on with, and how that ended."""
        self.resumed_run = result.run_id
        self._changed = self._changed or len(result.done) > len(result.earlier)
        self._reasons += result.verdict.reasons

    def unfinished_waits(self, run: Run, waiting: Sequence[Change]) -> None:
        """Note that the project has an unfinished run, which a person has to finish."""
        if not waiting:
            return
        first = waiting[0]
        others = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        when = "while reconciliation is suspended" if self.suspended else f"in the mode {self.mode}"
        sentence = (
            f"the run {run.id} of this project is not finished, and {first.address}{others} in it "
            f"({first.level}) may not be applied {when}; run "
            f"`{resume_command()}`, or apply a new plan"
        )
        self._reasons.append(Reason(exit=ExitCode.REFUSED, sentence=sentence))

    def left(self, plan: Plan, *, waits: bool) -> None:
        """Note the plan of what is left at the end, and whether it waits for somebody."""
        self._left = plan
        self._waits = waits
        if plan.verdict.stops:
            self._reasons += plan.verdict.reasons

    def stopped(self, reasons: Iterable[Reason], *, by_machine: bool = False) -> None:
        """Note why the turn stopped: what is declared is refused, or the machine failed."""
        self._failed = self._failed or by_machine
        self._reasons += reasons

    def interrupted(self, signal: int) -> None:
        """Note that a signal came before anything was applied."""
        code = ExitCode.INTERRUPTED if signal == _SIGINT else ExitCode.TERMINATED
        sentence = "stopped before anything was applied in this turn"
        self._reasons.append(Reason(exit=code, sentence=sentence))

    def failed_unexpectedly(self, error: Exception) -> None:
        """Note an error that is kgitops's own."""
        self._failed = True
        sentence = f"kgitops failed where it should not: {type(error).__name__}: {error}"
        self._reasons.append(
            Reason(exit=ExitCode.ERROR, sentence=shortened(sentence.replace("\n", " "), _LONGEST))
        )

    def result(self) -> TurnResult:
        """The result of the turn, which ends now."""
        verdict = self._verdict()
        plan, left = self._plan, self._left
        applied = self._applied
        return TurnResult(
            project=self.project,
            cluster=self.cluster,
            number=self._number,
            mode=self.mode,
            started=moments.to_text(self._began),
            ended=moments.to_text(self._clock.now()),
            seconds=round(self._clock.monotonic() - self._ticks, 3),
            outcome=self._outcome(verdict),
            exit=verdict.exit,
            reasons=_fewer(verdict.reasons),
            revision=self._revision.name,
            revision_problem=self._revision.problem,
            last_good=self.last_good,
            cluster_change=self.cluster_change,
            actions=count_actions(left) if left else {},
            levels=count_levels(left) if left else {},
            drift=_drifted(plan.drift) if plan else {},
            drifting=_drifted(left.drift) if left else {},
            healed=self._healed,
            violations=_violations(plan) if plan else {},
            applied=applied.plan_digest if applied else None,
            applied_actions=count_actions(applied.plan) if applied else {},
            applied_levels=count_levels(applied.plan) if applied else {},
            unfinished_run=self.unfinished_run,
            resumed_run=self.resumed_run,
            others_unfinished=self.others_unfinished,
            notes=tuple(self.notes),
            pending=self.pending,
            suspended=self.suspended,
            suspension=self.suspension,
            fights=self._fights,
            disabled=self.disabled,
            registry_records=self.registry_records,
            stages={name: round(seconds, 3) for name, seconds in self.stages.items()},
        )

    def _verdict(self) -> Verdict:
        """Once something was changed, a turn that something stops is partly applied (contract)."""
        reasons = list(dict.fromkeys(self._reasons))
        worst = decide(reasons, changes=False)
        incomplete = worst.stops and worst.exit not in (*_SIGNALLED, ExitCode.PARTIAL)
        if self._changed and incomplete:
            sentence = "a part was applied in this turn, and the rest is stopped"
            reasons.insert(0, Reason(exit=ExitCode.PARTIAL, sentence=sentence))
        return decide(reasons, changes=bool(self._left and self._left.changes))

    def _outcome(self, verdict: Verdict) -> TurnOutcome:
        causes = {reason.exit for reason in self._reasons}
        if causes.intersection(_SIGNALLED):
            return TurnOutcome.STOPPED
        if causes and causes <= {ExitCode.LOCKED}:
            return TurnOutcome.BUSY
        if causes and causes.issubset(_REFUSING) and not self._failed:
            return TurnOutcome.REFUSED
        if verdict.stops:
            return TurnOutcome.FAILED
        if self.suspended:
            return TurnOutcome.SUSPENDED
        if self._waits:
            return TurnOutcome.PENDING
        return TurnOutcome.APPLIED if self._changed else TurnOutcome.IN_SYNC


def _fewer(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """The first reasons, so that the status stays small however many findings there are."""
    shown = tuple(
        Reason(exit=reason.exit, sentence=shortened(reason.sentence, _LONGEST))
        for reason in reasons[:_MOST_REASONS]
    )
    if len(reasons) <= _MOST_REASONS:
        return shown
    more = f"and {len(reasons) - _MOST_REASONS} more; kgitops plan shows them all"
    return (*shown, Reason(exit=reasons[-1].exit, sentence=more))


def _drifted(rows: Iterable[Drift]) -> dict[str, int]:
    """The number of objects by kind that others changed."""
    drifted = {row.address for row in rows if row.rule not in _NOT_DRIFT}
    kinds = (KIND_OF_SORT.get(kind_of(address)) for address in drifted)
    return dict(Counter(str(kind) for kind in kinds if kind is not None))


def _violations(plan: Plan) -> dict[str, int]:
    results = (result for change in plan.changes for result in change.policies)
    return dict(
        Counter(str(found.level) for found in results if found.outcome is not Outcome.PASSED)
    )
