"""The highlights of a fleet run, the same in every rendering, the worst first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.fleet.summary import RunSummary, UnitSummary, stopping_reasons, verdict
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.policy.evaluate.bundle import Level as PolicyLevel
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.fleet.history import RunDelta, denied_count, drift_count
from kgitops.report.fleet.outliers import Outlier

_STOPPING = (PolicyStatus.DENIED, PolicyStatus.WAIVED, PolicyStatus.ADVISED, PolicyStatus.NOTED)
_WEAK = {str(PolicyLevel.ADVISORY): PolicyStatus.ADVISED}


class UnplannedUnit(Struct, frozen=True, kw_only=True):
    """A unit without a usable plan, with its worst reason; ``more`` counts the others."""

    unit: UnitSummary
    reason: Reason
    more: int

    @property
    def text(self) -> str:
        """``exit 8: the snapshot … can't be read (and 2 more)``."""
        more = f" (and {counted(self.more, 'more reason')})" if self.more else ""
        return f"exit {int(self.reason.exit)}: {self.reason.sentence}{more}"


class DestructivePlan(Struct, frozen=True, kw_only=True):
    """A unit whose plan deletes, or loses data or access."""

    unit: UnitSummary
    data_loss: int
    access_loss: int
    deletions: int

    @property
    def text(self) -> str:
        """``2 topics are deleted: a, b (of 230 changes)``; only counts if no names are known."""
        if self.unit.lost:
            return f"{self.unit.lost} (of {counted(self.unit.change_count, 'change')})"
        parts = (
            (self.data_loss, f"{self.data_loss:,} with data loss"),
            (self.access_loss, f"{self.access_loss:,} with access loss"),
            (self.deletions, counted(self.deletions, "deletion")),
        )
        counts = ", ".join(text for count, text in parts if count)
        return f"{counts}, of {counted(self.unit.change_count, 'change')}"


class PolicyViolations(Struct, frozen=True, kw_only=True):
    """All violations of one policy at one level that mean the same; ``units`` with most first."""

    policy: str
    level: str
    standing: PolicyStatus
    count: int
    units: Mapping[str, int]

    @property
    def text(self) -> str:
        """``30 denied in 2 plans``."""
        return f"{self.count:,} {self.standing} in {counted(len(self.units), 'plan')}"


def headline(run: RunSummary) -> str:
    """The answer, in one sentence."""
    if not run.units:
        return f"There was nothing to plan{_exit(run)}."
    units = len(run.units)
    stopping = _stopping(run)
    changes = sum(unit.change_count for unit in run.units)
    changed = len({unit.cluster for unit in run.units if unit.change_count})
    if len(failures(run)) == units:
        return f"Of {counted(units, 'plan')} none could be made{_exit(run)}."
    clusters = len(run.clusters)
    where = "one cluster" if clusters == 1 else f"{changed:,} of {clusters:,} clusters"
    planned = f"{_are(changes, 'change')} planned on {where}"
    if stopping:
        change = planned if changes else "no changes are planned"
        return f"{_joined(stopping)}{_exit(run)}; {change}."
    if changes:
        which = "it" if units == 1 else f"all {units:,} plans"
        return f"{planned}; {which} can be applied."
    which = "the one plan matches its" if units == 1 else f"all {units:,} plans match their"
    return f"No changes: {which} {_bare(clusters, 'cluster')}."


def failures(run: RunSummary) -> tuple[UnplannedUnit, ...]:
    """The units without a plan, the highest exit code first."""
    return _with_reasons(unit for unit in run.units if not unit.planned)


def refusals(run: RunSummary) -> tuple[UnplannedUnit, ...]:
    """The units with a plan that stops for another reason than a policy."""
    return _with_reasons(unit for unit in run.units if unit.planned and _reasons_but_denials(unit))


def destructive_plans(run: RunSummary) -> tuple[DestructivePlan, ...]:
    """The units whose plans destroy something, the worst first."""
    plans = (
        DestructivePlan(
            unit=unit,
            data_loss=unit.levels.get(RiskLevel.DATA_LOSS, 0),
            access_loss=unit.levels.get(RiskLevel.ACCESS_LOSS, 0),
            deletions=unit.actions.get(Action.DELETE, 0),
        )
        for unit in run.units
    )
    destructive = (each for each in plans if each.data_loss or each.access_loss or each.deletions)
    return tuple(
        sorted(
            destructive,
            key=lambda plan: (
                -plan.data_loss,
                -plan.deletions,
                -plan.access_loss,
                plan.unit.name,
            ),
        )
    )


def violations_by_policy(run: RunSummary) -> tuple[PolicyViolations, ...]:
    """Violations by policy: what denies first, then by how many there are."""
    counts: dict[tuple[PolicyStatus, str, str], Counter[str]] = defaultdict(Counter)
    for unit in run.units:
        for each in unit.violations:
            if each.outcome != Outcome.PASSED and each.count:
                standing = standing_of(each.level, each.outcome)
                counts[standing, each.policy, each.level][unit.name] += each.count
    by_policy = (
        PolicyViolations(
            policy=policy,
            level=level,
            standing=standing,
            count=units.total(),
            units=dict(sorted(units.items(), key=lambda item: (-item[1], item[0]))),
        )
        for (standing, policy, level), units in counts.items()
    )
    return tuple(
        sorted(
            by_policy,
            key=lambda each: (
                _STOPPING.index(each.standing),
                -each.count,
                each.policy,
                each.level,
            ),
        )
    )


def standing_of(level: str, outcome: str) -> PolicyStatus:
    """The status of a violation for a reviewer; an unknown level denies."""
    if outcome == Outcome.WAIVED:
        return PolicyStatus.WAIVED
    if level in (PolicyLevel.INFO, PolicyLevel.OFF):
        return PolicyStatus.NOTED
    return _WEAK.get(level, PolicyStatus.DENIED)


def changes_by_level(run: RunSummary) -> tuple[tuple[RiskLevel, int], ...]:
    """The number of changes by level, the worst first, without zeros."""
    counts = run.total("levels")
    return tuple((level, counts[level]) for level in RISK_LEVELS if counts.get(level))


def format_actions(run: RunSummary) -> str:
    """``1,200 to create, 45 to delete``; empty without changes."""
    counts = run.total("actions")
    return ", ".join(f"{counts[each]:,} to {each}" for each in Action if counts.get(each))


def format_drift_and_warnings(run: RunSummary) -> str:
    """``3 drifted, 2 kept, 1 warning``; empty without any."""
    drift, kept = sum(run.total("drift").values()), sum(run.total("kept").values())
    warnings = sum(unit.warning_count for unit in run.units)
    parts = (
        (drift, f"{drift:,} drifted"),
        (kept, f"{kept:,} kept"),
        (warnings, counted(warnings, "warning")),
    )
    return ", ".join(text for count, text in parts if count)


def format_outlier(outlier: Outlier) -> str:
    """``2,300 changes (median 12), 40 drifted (median 0)``."""
    return ", ".join(
        f"{mark.count:,} {mark.measure} (median {mark.median:,})" for mark in outlier.outstanding
    )


def format_delta(delta: RunDelta, run: RunSummary) -> str:
    """``changes 120 (+20), drift 3 (-1), denials 0 (±0)``."""
    now = (
        ("changes", sum(unit.change_count for unit in run.units), delta.previous.changes),
        ("drift", sum(map(drift_count, run.units)), delta.previous.drift),
        ("denials", sum(map(denied_count, run.units)), delta.previous.denied),
        ("without a plan", sum(not unit.planned for unit in run.units), delta.previous.failed),
    )
    return ", ".join(f"{what} {after:,} ({_signed(after - before)})" for what, after, before in now)


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Findings as sentences."""
    return [str(finding) for finding in findings]


def format_exit_counts(failed: Iterable[UnplannedUnit]) -> str:
    """``12 with exit 8, 3 with exit 1``."""
    counts = Counter(int(each.reason.exit) for each in failed)
    return ", ".join(f"{count:,} with exit {code}" for code, count in counts.most_common())


def _with_reasons(units: Iterable[UnitSummary]) -> tuple[UnplannedUnit, ...]:
    with_reasons = []
    for unit in units:
        reasons = _reasons_but_denials(unit)
        # Denials are summed up elsewhere, so only other reasons can be counted here.
        total = len(reasons) if unit.planned else max(unit.reason_count, len(reasons))
        with_reasons.append(UnplannedUnit(unit=unit, reason=reasons[0], more=total - 1))
    return tuple(sorted(with_reasons, key=lambda each: (-int(each.reason.exit), each.unit.name)))


def _reasons_but_denials(unit: UnitSummary) -> list[Reason]:
    """The reasons without denials, which are shown by policy; all for a unit with nothing else."""
    reasons = stopping_reasons(unit)
    others = [reason for reason in reasons if reason.exit is not ExitCode.DENIED]
    return others if unit.planned or others else list(reasons)


def _stopping(run: RunSummary) -> list[str]:
    errors = sum(finding.severity == "error" for finding in run.findings)
    units = len(run.units)
    failed = len(failures(run))
    denied = sum(unit.planned and denied_count(unit) > 0 for unit in run.units)
    refused = len(refusals(run))
    of_all = f"of {counted(units, 'plan')}"
    clauses = [
        (failed, f"{failed:,} {of_all} could not be made"),
        (denied, f"{denied:,} {of_all} {_is(denied)} denied by policy"),
        (refused, f"{refused:,} {of_all} {_is(refused)} refused"),
        (errors, f"{counted(errors, 'finding')} {_is(errors)} about no single plan"),
    ]
    shown = [clause for count, clause in clauses if count]
    return [
        clause if at == 0 else clause.replace(f" {of_all}", "") for at, clause in enumerate(shown)
    ]


def _exit(run: RunSummary) -> str:
    answer = verdict(run)
    return f" (exit {int(answer.exit)})" if answer.stops else ""


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _are(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {_is(count)}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _bare(count: int, noun: str) -> str:
    return noun if count == 1 else f"{count:,} {noun}s"


def _signed(change: int) -> str:
    sign = "+" if change > 0 else "-" if change < 0 else "±"
    return f"{sign}{abs(change):,}"


def first_names(names: Sequence[str], most: int) -> Iterator[str]:
    """The first names, and how many more there are."""
    yield from names[:most]
    if len(names) > most:
        yield f"{len(names) - most:,} more"
