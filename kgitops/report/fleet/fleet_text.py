"""A fleet's runs as text for a person: the answer, what needs a look, then the numbers."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TypeVar

from msgspec import Struct

from kgitops.fleet.summary import History, RunSummary, verdict
from kgitops.model.wording import counted, shortened
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.content.safe_text import Line, Style, render_lines, terminal_text
from kgitops.report.fleet.highlights import (
    UnplannedUnit,
    changes_by_level,
    destructive_plans,
    failures,
    finding_lines,
    first_names,
    format_actions,
    format_delta,
    format_drift_and_warnings,
    format_exit_counts,
    format_outlier,
    headline,
    refusals,
    violations_by_policy,
)
from kgitops.report.fleet.history import RunDelta, delta_to_previous, totals_by_run
from kgitops.report.fleet.outliers import outliers

_NARROWEST, _WIDEST = 80, 160
_MOST = 10
_RUNS = 14
_NAME = 48
_SENTENCE = 400

T = TypeVar("T")


def render_fleet_text(
    history: History, *, full: bool = False, colour: bool = False, width: int = 100
) -> str:
    """The fleet for a terminal or a log.

    Args:
        history: the runs to show; the latest in detail, the others for comparison.
        full: list everything, not the first ten of it.
        colour: use ANSI colours; nothing depends on them.
        width: how wide the text may be where that can be chosen, 80 to 160.
    """
    page = _Page(full=full, width=max(_NARROWEST, min(_WIDEST, width)))
    lines = [*page.header(history), *page.attention(history), *page.numbers(history)]
    return render_lines([*lines, *page.ending(history)], colour=colour, ascii_only=False)


class _Page(Struct, frozen=True):
    full: bool
    width: int

    def header(self, history: History) -> Iterator[Line]:
        run = history.latest
        clusters, units = len(run.clusters), len(run.units)
        size = f"  {counted(clusters, 'cluster')}, {counted(units, 'plan')}"
        yield [(Style.BOLD, "kgitops fleet"), f"{size}  made={run.created} in {run.seconds:.0f} s"]
        answer = verdict(run)
        changes = any(unit.change_count for unit in run.units)
        style = Style.RED_BOLD if answer.stops else Style.YELLOW_BOLD if changes else Style.BOLD
        for line in wrap(headline(run), self.width):
            yield [(style, line)]
        parts = [f"{count:,} {level.replace('-', ' ')}" for level, count in changes_by_level(run)]
        for text in (format_actions(run), ", ".join(parts), format_drift_and_warnings(run)):
            if text:
                yield [f"  {text}"]

    def attention(self, history: History) -> Iterator[Line]:
        """The parts that need attention, the worst first."""
        run = history.latest
        yield from self.failed("NO PLAN", failures(run))
        rows = [(each.unit.name, each.text) for each in destructive_plans(run)]
        yield from self.rows("DELETIONS AND LOSSES", Style.RED_BOLD, "-", rows, "plan")
        yield from self.failed("REFUSED", refusals(run))
        yield from self.findings(run)
        yield from self.violations(run)
        rows = [(each.unit.name, format_outlier(each)) for each in outliers(run.units)]
        yield from self.rows("OUTLIERS", Style.YELLOW_BOLD, "!", rows, "plan")

    def failed(self, title: str, units: Sequence[UnplannedUnit]) -> Iterator[Line]:
        rows = [(each.unit.name, each.text) for each in units]
        note = format_exit_counts(units) if len(units) > 1 else ""
        yield from self.rows(title, Style.RED_BOLD, "!", rows, "plan", note)

    def findings(self, run: RunSummary) -> Iterator[Line]:
        if run.findings:
            yield from self.titled("FINDINGS", Style.YELLOW_BOLD, len(run.findings))
            for sentence in self.first(finding_lines(run.findings)):
                yield from self.wrapped("!", Style.YELLOW, sentence)
            yield from self.rest(len(run.findings))

    def violations(self, run: RunSummary) -> Iterator[Line]:
        by_policy = violations_by_policy(run)
        if not by_policy:
            return
        stops = by_policy[0].standing is PolicyStatus.DENIED
        style = Style.RED_BOLD if stops else Style.YELLOW_BOLD
        yield from self.titled("VIOLATIONS", style, sum(rule.count for rule in by_policy))
        for rule in self.first(by_policy):
            mark = Style.RED if rule.standing is PolicyStatus.DENIED else Style.YELLOW
            yield ["  ", (mark, "!"), f" {_short(rule.policy)} ({rule.level}): {rule.text}"]
            units = [f"{_short(name)} ({count:,})" for name, count in rule.units.items()]
            yield from self.block(first_names(units, len(units) if self.full else 3))
        yield from self.rest(len(by_policy))

    def numbers(self, history: History) -> Iterator[Line]:
        """Changes since the previous run, and all runs in a table."""
        run = history.latest
        delta = delta_to_previous(history)
        if delta:
            yield from self.compared(delta, run)
            yield from self.table(history)
        if run.unplanned:
            yield from self.titled(
                "NO PROJECT IS FOR THESE CLUSTERS", Style.BOLD, len(run.unplanned)
            )
            yield from self.block(
                first_names(run.unplanned, len(run.unplanned) if self.full else _MOST)
            )
        most = sorted(run.units, key=lambda unit: (-unit.change_count, unit.name))
        rows = [(unit.name, counted(unit.change_count, "change")) for unit in most]
        changed = [row for row, unit in zip(rows, most, strict=True) if unit.change_count]
        yield from self.rows("MOST CHANGES", Style.BOLD, " ", changed, "plan")

    def compared(self, delta: RunDelta, run: RunSummary) -> Iterator[Line]:
        yield []
        yield [(Style.BOLD, f"SINCE {delta.created}")]
        yield from self.block([format_delta(delta, run)], indent=2)
        for what, which in (
            ("no plan any more", delta.now_failed),
            ("planned again", delta.planned_again),
            ("new clusters", delta.new_clusters),
            ("clusters that are gone", delta.gone_clusters),
        ):
            if which:
                names = first_names(which, len(which) if self.full else 3)
                yield from self.block([f"{what} ({len(which):,}): {', '.join(names)}"], indent=2)
        rows = [(each.unit.name, f"{each.before:,} -> {each.after:,}") for each in delta.grown]
        yield from self.rows("DRIFT GREW", Style.YELLOW_BOLD, "!", rows, "plan")

    def table(self, history: History) -> Iterator[Line]:
        runs = totals_by_run(history)
        shown = runs if self.full else runs[-_RUNS:]
        earlier = history.left_out + len(runs) - len(shown)
        yield []
        yield [(Style.BOLD, f"RUNS ({len(runs) + history.left_out:,})")]
        yield from _columns(
            ("made", "clusters", "plans", "no plan", "changes", "drift", "denied", "exit"),
            [
                (n.created, n.clusters, n.units, n.failed, n.changes, n.drift, n.denied, n.exit)
                for n in shown
            ],
        )
        if earlier:
            yield [f"  and {earlier:,} earlier"]

    def ending(self, history: History) -> Iterator[Line]:
        units = history.latest.units
        step = "declare something for a cluster, and plan again."
        if any(unit.planned for unit in units):
            step = "kgitops fleet summary DIR --cluster NAME shows one plan."
        elif units:
            step = "correct the problems of each plan, and plan again."
        yield []
        yield [(Style.BOLD, f"Next: {step}")]

    def rows(
        self,
        title: str,
        style: Style,
        mark: str,
        rows: Sequence[tuple[str, str]],
        noun: str,
        note: str = "",
    ) -> Iterator[Line]:
        """Names with a text each, in two columns if they are short."""
        if not rows:
            return
        yield from self.titled(title, style, counted(len(rows), noun), note)
        shown = [(_short(name), words) for name, words in self.first(rows)]
        column = max(len(terminal_text(name)) for name, _ in shown)
        for name, words in shown:
            text = f"{name}{' ' * (column - len(terminal_text(name)))}  {words}"
            yield from self.wrapped(mark, style, text, hang=column + 2)
        yield from self.rest(len(rows))

    def wrapped(self, mark: str, style: Style, text: str, hang: int = 2) -> Iterator[Line]:
        """A row that continues below itself, as far as its words begin; a path stays whole."""
        safe = terminal_text(shortened(text, _SENTENCE))
        hang = hang if hang < self.width // 2 else 4
        pad = " " * hang
        room = self.width - 4
        lines = wrap(
            safe, room, subsequent_indent=pad, break_on_hyphens=False, break_long_words=False
        )
        first, *rest = lines or [""]
        yield ["  ", (style, mark), f" {first}"]
        yield from ([f"    {line}"] for line in rest)

    def block(self, words: Iterable[str], indent: int = 6) -> Iterator[Line]:
        """Words in a paragraph."""
        pad = " " * indent
        text = terminal_text(", ".join(words))
        for line in wrap(
            text, self.width, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False
        ):
            yield [line]

    def titled(self, title: str, style: Style, count: int | str, note: str = "") -> Iterator[Line]:
        """A heading with the number of rows below it."""
        size = f"{count:,}" if isinstance(count, int) else count
        yield []
        yield [(style, f"{title} ({size})"), f"  {note}" if note else ""]

    def first(self, items: Sequence[T]) -> Sequence[T]:
        """All of them, or the first ten."""
        return items if self.full else items[:_MOST]

    def rest(self, count: int) -> Iterator[Line]:
        """A line with the number of those not shown, of ``count``."""
        if not self.full and count > _MOST:
            yield [f"    and {count - _MOST:,} more   all: --full"]


def _short(name: str) -> str:
    return shortened(name, _NAME)


def _columns(titles: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Iterator[Line]:
    """A table of numbers behind a name, each column as wide as it must be."""
    table = [[cell if isinstance(cell, str) else f"{int(cell):,}" for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *table, strict=True)]
    for row in (titles, *table):
        first = f"  {row[0]:<{widths[0]}}"
        rest = (f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield [(Style.DIM if row is titles else Style.PLAIN, f"{first}{''.join(rest)}")]
