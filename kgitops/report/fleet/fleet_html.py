"""A fleet's runs as one HTML file that opens from disk, without network and JavaScript.

The page is a value, in the order of its parts; the template places them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from kgitops import __version__
from kgitops.fleet.summary import History, RunSummary, UnitSummary, verdict
from kgitops.model.resources.kinds import Kind
from kgitops.model.wording import counted
from kgitops.plan.document.risks import RiskLevel
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.fleet.charts import (
    ClusterChart,
    LineChart,
    StackedBar,
    cluster_chart,
    line_charts,
    violation_bars,
)
from kgitops.report.fleet.highlights import (
    PolicyViolations,
    changes_by_level,
    destructive_plans,
    failures,
    finding_lines,
    first_names,
    format_actions,
    format_delta,
    format_drift_and_warnings,
    format_exit_counts,
    headline,
    refusals,
    violations_by_policy,
)
from kgitops.report.fleet.history import RunTotals, delta_to_previous, denied_count, totals_by_run
from kgitops.report.fleet.outliers import Outlier, outliers, worst_level
from kgitops.report.html import render as plan_page
from kgitops.report.html.pieces import Fact, Limited, Segment, Share, limited, segments
from kgitops.report.html.render import content_security_policy, environment, inline

_MOST_RUNS = 90
_MOST_UNITS = 1_000
_NAMES = 5


class NamedText(Struct, frozen=True, kw_only=True):
    """The name of a unit or a group of clusters, with a text."""

    name: str
    text: str = ""


class UnitRow(Struct, frozen=True, kw_only=True):
    """A unit's numbers in the table of all units."""

    unit: UnitSummary
    changes: int
    level: str
    drift: int
    denied: int


class FleetPage(Struct, frozen=True, kw_only=True):
    """The page, from top to bottom."""

    status: str
    tone: str
    created: str
    headline: str
    facts: tuple[Fact, ...]
    shares: tuple[Share, ...]
    bar: tuple[Segment, ...]
    failed: Limited[NamedText]
    failed_by_exit: str
    findings: Limited[str]
    destructive: Limited[NamedText]
    refused: Limited[NamedText]
    outliers: tuple[Outlier, ...]
    outliers_left_out: int
    since: str
    delta: str
    grown: Limited[NamedText]
    moved: tuple[NamedText, ...]
    clusters: ClusterChart | None
    kinds: tuple[tuple[str, int], ...]
    violations: tuple[PolicyViolations, ...]
    violation_bars: tuple[StackedBar, ...]
    standings: tuple[str, ...]
    unjudged: str
    lines: tuple[LineChart, ...]
    runs: tuple[RunTotals, ...]
    runs_left_out: int
    unplanned: Limited[str]
    units: tuple[UnitRow, ...]
    units_left_out: int
    version: str


def page_of_fleet(history: History) -> FleetPage:
    run = history.latest
    status, tone = _status(run)
    levels = changes_by_level(run)
    failed, compared, by_policy = (
        failures(run),
        delta_to_previous(history),
        violations_by_policy(run),
    )
    totals, far = totals_by_run(history), outliers(run.units)
    grown = compared.grown if compared else ()
    rows = sorted(map(_row, run.units), key=lambda row: (-row.changes, row.unit.name))
    return FleetPage(
        status=status,
        tone=tone,
        created=run.created,
        headline=headline(run),
        facts=tuple(_facts(run)),
        shares=tuple(
            Share(level=level, words=_words(level), count=count) for level, count in levels
        ),
        bar=segments([(str(level), count) for level, count in levels]),
        failed=limited([NamedText(name=each.unit.name, text=each.text) for each in failed]),
        failed_by_exit=format_exit_counts(failed),
        findings=limited(finding_lines(run.findings)),
        destructive=limited(
            [NamedText(name=each.unit.name, text=each.text) for each in destructive_plans(run)]
        ),
        refused=limited([NamedText(name=each.unit.name, text=each.text) for each in refusals(run)]),
        outliers=far[:_MOST_UNITS],
        outliers_left_out=max(0, len(far) - _MOST_UNITS),
        since=compared.created if compared else "",
        delta=format_delta(compared, run) if compared else "",
        grown=limited(
            [
                NamedText(name=each.unit.name, text=f"{each.before:,} before, {each.after:,} now")
                for each in grown
            ],
            first=5,
        ),
        moved=tuple(_moved(history)),
        clusters=cluster_chart(run),
        kinds=tuple((kind, count) for kind, count in run.total("changes").items() if count),
        violations=by_policy,
        violation_bars=violation_bars(by_policy),
        standings=tuple(
            str(each) for each in PolicyStatus if any(rule.standing is each for rule in by_policy)
        ),
        unjudged=_unjudged(run, by_policy),
        lines=line_charts(totals[-_MOST_RUNS:]),
        runs=tuple(reversed(totals[-_MOST_RUNS:])),
        runs_left_out=history.left_out + max(0, len(totals) - _MOST_RUNS),
        unplanned=limited(run.unplanned),
        units=tuple(rows[:_MOST_UNITS]),
        units_left_out=max(0, len(rows) - _MOST_UNITS),
        version=__version__,
    )


def _status(run: RunSummary) -> tuple[str, str]:
    """The verdict in a few words, and how it is coloured."""
    failed = len(failures(run))
    if failed:
        return f"{failed:,} of {counted(len(run.units), 'plan')} missing", "stops"
    if verdict(run).stops:
        denied = any(denied_count(unit) for unit in run.units)
        return "Denied by policy" if denied else "Can't be applied as it is", "stops"
    if not any(unit.change_count for unit in run.units):
        return "No changes" if run.units else "Nothing to plan", "safe"
    worst = next(iter(changes_by_level(run)), (RiskLevel.SAFE, 0))[0]
    if worst is RiskLevel.SAFE:
        return "Can be applied", "safe"
    risk = "disruption" if worst is RiskLevel.DISRUPTIVE else _words(worst)
    return f"Can be applied, with {risk}", str(worst)


def _facts(run: RunSummary) -> Iterator[Fact]:
    yield Fact(label="Clusters", value=f"{len(run.clusters):,}")
    yield Fact(label="Plans", value=f"{sum(unit.planned for unit in run.units):,}")
    if any(unit.planned for unit in run.units):
        declared = run.total("objects")
        topics = declared.get(Kind.TOPIC)
        yield Fact(
            label="Declared",
            value=counted(sum(declared.values()), "object"),
            more=counted(topics, "topic") if topics else "",
        )
        yield Fact(label="Changes", value=format_actions(run) or "none")
        yield Fact(label="Beside them", value=format_drift_and_warnings(run) or "no drift")
    yield Fact(label="Made", value=run.created, more=f"in {run.seconds:.0f} s")


def _unjudged(run: RunSummary, by_policy: Sequence[PolicyViolations]) -> str:
    """The sentence for runs without violations; empty if there are some."""
    if by_policy:
        return ""
    if not any(unit.planned for unit in run.units):
        return "There is no plan that a policy could judge."
    missing = any(not unit.planned for unit in run.units)
    which = "the plans that could be made" if missing else "these plans"
    return f"No policy says anything against {which}."


def _moved(history: History) -> Iterator[NamedText]:
    delta = delta_to_previous(history)
    if delta is None:
        return
    for what, which in (
        ("No plan any more", delta.now_failed),
        ("Planned again", delta.planned_again),
        ("New clusters", delta.new_clusters),
        ("Clusters that are gone", delta.gone_clusters),
    ):
        if which:
            yield NamedText(
                name=f"{what} ({len(which):,})", text=", ".join(first_names(which, _NAMES))
            )


def _row(unit: UnitSummary) -> UnitRow:
    level = worst_level(unit)
    return UnitRow(
        unit=unit,
        changes=unit.change_count,
        level=_words(level) if level else "",
        drift=sum(unit.drift.values()),
        denied=denied_count(unit),
    )


def _words(level: RiskLevel) -> str:
    return str(level).replace("-", " ")


_HERE = Path(__file__).parent
_SHARED = Path(plan_page.__file__).parent / "plan.css"


def render_fleet_html(history: History) -> str:
    """The fleet for a browser: the worst first, with pictures; the same history, the same text."""
    style = inline(_SHARED) + inline(_HERE / "fleet.css")
    template = environment(_HERE).get_template("fleet.html.jinja")
    return template.render(
        page=page_of_fleet(history), style=style, csp=content_security_policy(style)
    )
