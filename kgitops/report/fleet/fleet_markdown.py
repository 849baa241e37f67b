"""A fleet's runs as a comment on a pull request, within GitHub's limit."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kgitops.fleet.summary import History, RunSummary, verdict
from kgitops.model.wording import counted, shortened
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.content.safe_text import comment_token, fenced, guarded_line, terminal_text
from kgitops.report.fleet.highlights import (
    destructive_plans,
    failures,
    finding_lines,
    first_names,
    format_actions,
    format_delta,
    format_drift_and_warnings,
    format_outlier,
    headline,
    refusals,
    violations_by_policy,
)
from kgitops.report.fleet.history import delta_to_previous, totals_by_run
from kgitops.report.fleet.outliers import outliers
from kgitops.report.markdown.plan import GITHUB_BUDGET

_LADDER = ((50, 20), (50, 5), (20, 5), (10, 3), (5, 1), (3, 0), (1, 0), (0, 0))
"""The most lines of an open and of a folded section; the next if the comment is too long."""
_LINE = 400
_NAME = 100
_RUNS = 14


class CommentSection(Struct, frozen=True, kw_only=True):
    """Lines under a title; ``open`` ones are not folded."""

    title: str
    lines: tuple[str, ...]
    open: bool = True

    def markdown(self, step: tuple[int, int]) -> str:
        """The part with its first lines, and how many more there are."""
        most = step[0 if self.open else 1]
        shown = list(self.lines[:most])
        if len(self.lines) > most:
            shown.append(f"# {len(self.lines) - most:,} more: kgitops fleet summary DIR --full")
        title = f"{self.title} ({len(self.lines):,})"
        block = fenced(shown, "diff")
        if self.open:
            return f"#### {title}\n\n{block}\n"
        return f"<details><summary>{title}</summary>\n\n{block}\n\n</details>\n"


def render_fleet_markdown(history: History, *, budget: int = GITHUB_BUDGET) -> str:
    """One comment: the answer, what needs a look, the numbers; shorter where it must be.

    Args:
        history: what to show.
        budget: the most bytes of UTF-8 the comment may have; it never needs 4,096.
    """
    sections = [section for section in _sections(history) if section.lines]
    for step in _LADDER:
        text = "\n".join((_top(history), *(section.markdown(step) for section in sections)))
        if len(text.encode()) <= budget:
            break
    return text


def _top(history: History) -> str:
    run = history.latest
    stops = verdict(run).stops
    severe = bool(destructive_plans(run)) or stops
    changes = any(unit.change_count for unit in run.units)
    dot = "🔴" if severe else "🟠" if changes else "🟢"
    size = f"{counted(len(run.clusters), 'cluster')}, {counted(len(run.units), 'plan')}"
    parts = (format_actions(run), format_drift_and_warnings(run))
    summary = "; ".join(part for part in parts if part)
    lines = [
        f"<!-- kgitops:fleet:{comment_token(run.created[:20])} -->",
        f"### {dot} kgitops fleet plan: {size}\n",
        f"**{headline(run)}**\n",
    ]
    if summary:
        lines.append(f"{summary[0].upper()}{summary[1:]}.\n")
    return "\n".join(lines)


def _sections(history: History) -> Iterator[CommentSection]:
    run = history.latest
    yield _section("No plan", "-", [(each.unit.name, each.text) for each in failures(run)])
    destroyed = [(each.unit.name, each.text) for each in destructive_plans(run)]
    yield _section("Deletions and losses", "-", destroyed)
    yield _section("Refused", "-", [(each.unit.name, each.text) for each in refusals(run)])
    yield CommentSection(
        title="Findings", lines=tuple(_line(f"! {each}") for each in finding_lines(run.findings))
    )
    yield CommentSection(title="Violations", lines=tuple(_violations(run)))
    outlier_rows = [(each.unit.name, format_outlier(each)) for each in outliers(run.units)]
    yield _section("Outliers", "!", outlier_rows, is_open=False)
    yield from _history(history)
    most = sorted(run.units, key=lambda unit: (-unit.change_count, unit.name))
    changed = [(u.name, counted(u.change_count, "change")) for u in most if u.change_count]
    yield _section("Changes by plan", "#", changed, is_open=False)
    lines = tuple(_line(f"# {_short(name)}") for name in run.unplanned)
    yield CommentSection(title="Clusters without a project", lines=lines, open=False)


def _violations(run: RunSummary) -> Iterator[str]:
    for rule in violations_by_policy(run):
        mark = "-" if rule.standing is PolicyStatus.DENIED else "!"
        named = [f"{_short(name)} ({count:,})" for name, count in rule.units.items()]
        units = ", ".join(first_names(named, 3))
        yield _line(f"{mark} {_short(rule.policy)} ({rule.level}): {rule.text}: {units}")


def _history(history: History) -> Iterator[CommentSection]:
    delta = delta_to_previous(history)
    if delta is None:
        return
    lines = [f"# since {delta.created}: {format_delta(delta, history.latest)}"]
    for what, which in (
        ("no plan any more", delta.now_failed),
        ("planned again", delta.planned_again),
        ("new cluster", delta.new_clusters),
        ("cluster is gone", delta.gone_clusters),
    ):
        lines += (f"! {what}: {_short(name)}" for name in which)
    lines += (
        f"! drift grew: {_short(each.unit.name)}  {each.before:,} -> {each.after:,}"
        for each in delta.grown
    )
    yield CommentSection(title="Since the run before", lines=tuple(map(_line, lines)), open=False)
    rows = (
        f"# {n.created}  {n.changes:,} changes, {n.drift:,} drifted, {n.denied:,} denied, "
        f"{n.failed:,} of {n.units:,} without a plan, exit {int(n.exit)}"
        for n in reversed(totals_by_run(history)[-_RUNS:])
    )
    yield CommentSection(title="Runs", lines=tuple(map(_line, rows)), open=False)


def _section(
    title: str, mark: str, rows: Sequence[tuple[str, str]], *, is_open: bool = True
) -> CommentSection:
    lines = (f"{mark} {_short(name)}  {words}" for name, words in rows)
    return CommentSection(title=title, lines=tuple(map(_line, lines)), open=is_open)


def _line(text: str) -> str:
    return guarded_line(shortened(terminal_text(text), _LINE))


def _short(name: str) -> str:
    return shortened(name, _NAME)
