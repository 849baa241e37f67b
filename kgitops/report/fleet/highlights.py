"""What there is to say about a run over a fleet, the same in every rendering: worst first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kgitops.fleet.summary import RunSummary, UnitSummary, stopping_reasons, verdict
from kgitops.model.source import Finding
from kgitops.model.verdict import ExitCode, Reason
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Action
from kgitops.plan.document.risks import RISK_LEVELS, RiskLevel
from kgitops.policy.evaluate.bundle import Level as PolicyLevel
from kgitops.policy.evaluate.ruling import Outcome
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.fleet.history import Since, denied_count, drift_count
from kgitops.report.fleet.outliers import Outlier

_STOPPING = (PolicyStatus.DENIED, PolicyStatus.WAIVED, PolicyStatus.ADVISED, PolicyStatus.NOTED)
_WEAK = {str(PolicyLevel.ADVISORY): PolicyStatus.ADVISED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A unit with its worst reason; ``more`` counts its other ones."""

    unit: UnitSummary
    reason: Reason
    more: int

    @property
    def words(self) -> str:
        """``exit 8: the snapshot … can't be read (and 2 more)``."""
        more = f" (and {counted(self.more, 'more reason')})" if self.more else ""
        return f"exit {int(self.reason.exit)}: {self.reason.sentence}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grave:
    """A unit whose plan deletes, or loses data or access."""

    unit: UnitSummary
    data_loss: int
    access_loss: int
    deletions: int

    @property
    def words(self) -> str:
        """``2 topics are deleted: a, b (of 230 changes)``; counts alone where that is not known."""
        if self.unit.lost:
            return f"{self.unit.lost} (of {counted(self.unit.change_count, 'change')})"
        parts = (
            (self.data_loss, f"{self.data_loss:,} with data loss"),
            (self.access_loss, f"{self.access_loss:,} with access loss"),
            (self.deletions, counted(self.deletions, "deletion")),
        )
        told = ", ".join(words for count, words in parts if count)
        return f"{told}, of {counted(self.unit.change_count, 'change')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """All violations of one policy at one level that mean the same; ``units`` with most first."""

    policy: str
    level: str
    standing: PolicyStatus
    count: int
    units: tuple[tuple[str, int], ...]

    @property
    def words(self) -> str:
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


def failures(run: RunSummary) -> tuple[Failure, ...]:
    """The units without a plan, those that can be reached least first."""
    return _told(unit for unit in run.units if not unit.planned)


def refusals(run: RunSummary) -> tuple[Failure, ...]:
    """The units that have a plan which stops for another reason than a policy."""
    return _told(unit for unit in run.units if unit.planned and _beside_policies(unit))


def graves(run: RunSummary) -> tuple[Grave, ...]:
    """The units whose plans destroy something, the worst first."""
    found = (
        Grave(
            unit=unit,
            data_loss=unit.levels.get(RiskLevel.DATA_LOSS, 0),
            access_loss=unit.levels.get(RiskLevel.ACCESS_LOSS, 0),
            deletions=unit.actions.get(Action.DELETE, 0),
        )
        for unit in run.units
    )
    kept = (each for each in found if each.data_loss or each.access_loss or each.deletions)
    return tuple(
        sorted(kept, key=lambda g: (-g.data_loss, -g.deletions, -g.access_loss, g.unit.name))
    )


def rules(run: RunSummary) -> tuple[Rule, ...]:
    """Violations by policy: what denies first, then by how many there are."""
    found: dict[tuple[PolicyStatus, str, str], Counter[str]] = defaultdict(Counter)
    for unit in run.units:
        for (policy, level, outcome), count in unit.violations.items():
            if outcome != Outcome.PASSED and count:
                found[standing_of(level, outcome), policy, level][unit.name] += count
    told = (
        Rule(
            policy=policy,
            level=level,
            standing=standing,
            count=units.total(),
            units=tuple(sorted(units.items(), key=lambda item: (-item[1], item[0]))),
        )
        for (standing, policy, level), units in found.items()
    )
    return tuple(
        sorted(told, key=lambda r: (_STOPPING.index(r.standing), -r.count, r.policy, r.level))
    )


def standing_of(level: str, outcome: str) -> PolicyStatus:
    """What a violation means to a reviewer; what no weak level lifts denies."""
    if outcome == Outcome.WAIVED:
        return PolicyStatus.WAIVED
    if level in (PolicyLevel.INFO, PolicyLevel.OFF):
        return PolicyStatus.NOTED
    return _WEAK.get(level, PolicyStatus.DENIED)


def by_level(run: RunSummary) -> tuple[tuple[RiskLevel, int], ...]:
    """Changes by level, the worst first; none that is empty."""
    counts = run.total("levels")
    return tuple((level, counts[level]) for level in RISK_LEVELS if counts.get(level))


def action_words(run: RunSummary) -> str:
    """``1,200 to create, 45 to delete``; nothing where there is nothing to do."""
    counts = run.total("actions")
    return ", ".join(f"{counts[each]:,} to {each}" for each in Action if counts.get(each))


def beside_words(run: RunSummary) -> str:
    """How much drift there is, what is left alone, and warnings; nothing where there is none."""
    drift, kept = sum(run.total("drift").values()), sum(run.total("kept").values())
    warnings = sum(unit.warning_count for unit in run.units)
    parts = (
        (drift, f"{drift:,} drifted"),
        (kept, f"{kept:,} kept"),
        (warnings, counted(warnings, "warning")),
    )
    return ", ".join(words for count, words in parts if count)


def outlier_words(found: Outlier) -> str:
    """``2,300 changes (median 12), 40 drifted (median 0)``."""
    return ", ".join(
        f"{mark.count:,} {mark.measure} (median {mark.median:,})" for mark in found.loud
    )


def since_words(found: Since, run: RunSummary) -> str:
    """``changes 120 (+20), drift 3 (-1), denials 0 (±0)``."""
    now = (
        ("changes", sum(unit.change_count for unit in run.units), found.night.changes),
        ("drift", sum(map(drift_count, run.units)), found.night.drift),
        ("denials", sum(map(denied_count, run.units)), found.night.denied),
        ("without a plan", sum(not unit.planned for unit in run.units), found.night.failed),
    )
    return ", ".join(f"{what} {after:,} ({_signed(after - before)})" for what, after, before in now)


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Findings as sentences."""
    return [str(finding) for finding in findings]


def exit_counts(failed: Iterable[Failure]) -> str:
    """``12 with exit 8, 3 with exit 1``."""
    counts = Counter(int(each.reason.exit) for each in failed)
    return ", ".join(f"{count:,} with exit {code}" for code, count in counts.most_common())


def _told(units: Iterable[UnitSummary]) -> tuple[Failure, ...]:
    found = []
    for unit in units:
        reasons = _beside_policies(unit)
        # Only of those that are no denials is it known how many the summary holds.
        total = len(reasons) if unit.planned else max(unit.reason_count, len(reasons))
        found.append(Failure(unit=unit, reason=reasons[0], more=total - 1))
    return tuple(sorted(found, key=lambda each: (-int(each.reason.exit), each.unit.name)))


def _beside_policies(unit: UnitSummary) -> list[Reason]:
    """Denials are told by policy, but for those of a unit that has nothing else to say."""
    reasons = stopping_reasons(unit)
    found = [reason for reason in reasons if reason.exit is not ExitCode.DENIED]
    return found if unit.planned or found else list(reasons)


def _stopping(run: RunSummary) -> list[str]:
    errors = sum(finding.severity == "error" for finding in run.findings)
    units = len(run.units)
    failed = len(failures(run))
    denied = sum(unit.planned and denied_count(unit) > 0 for unit in run.units)
    refused = len(refusals(run))
    of_all = f"of {counted(units, 'plan')}"
    told = [
        (failed, f"{failed:,} {of_all} could not be made"),
        (denied, f"{denied:,} {of_all} {_is(denied)} denied by policy"),
        (refused, f"{refused:,} {of_all} {_is(refused)} refused"),
        (errors, f"{counted(errors, 'finding')} {_is(errors)} about no single plan"),
    ]
    found = [words for count, words in told if count]
    return [words if at == 0 else words.replace(f" {of_all}", "") for at, words in enumerate(found)]


def _exit(run: RunSummary) -> str:
    found = verdict(run)
    return f" (exit {int(found.exit)})" if found.stops else ""


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


def names(found: Sequence[str], most: int) -> Iterator[str]:
    """The first names, and how many more there are."""
    yield from found[:most]
    if len(found) > most:
        yield f"{len(found) - most:,} more"
