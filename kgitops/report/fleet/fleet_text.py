"""A fleet's runs as text for a person: the answer, what needs a look, then the numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeVar

from kgitops.fleet.summary import History, RunSummary, verdict
from kgitops.model.wording import counted, shortened
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.content.safe_text import Line, Style, ink, terminal_text
from kgitops.report.fleet.highlights import (
    Failure,
    action_words,
    beside_words,
    by_level,
    exit_counts,
    failures,
    finding_lines,
    graves,
    headline,
    names,
    outlier_words,
    refusals,
    rules,
    since_words,
)
from kgitops.report.fleet.history import Since, nights, since
from kgitops.report.fleet.outliers import outliers

_NARROWEST, _WIDEST = 80, 160
_MOST = 10
_NIGHTS = 14
_NAME = 48
_SENTENCE = 400

T = TypeVar("T")


def render_fleet_text(
    history: History, *, full: bool = False, colour: bool = False, width: int = 100
) -> str:
    """The fleet for a terminal or a log.

    Args:
        history: what to show; its latest run is told, the others give what it is compared with.
        full: list everything, not the first ten of it.
        colour: use ANSI colours; nothing depends on them.
        width: how wide the text may be where that can be chosen, 80 to 160.
    """
    page = _Page(full=full, width=max(_NARROWEST, min(_WIDEST, width)))
    lines = [*page.header(history), *page.attention(history), *page.numbers(history)]
    return ink([*lines, *page.ending(history)], colour=colour, ascii_only=False)


@dataclass(frozen=True, slots=True)
class _Page:
    full: bool
    width: int

    def header(self, history: History) -> Iterator[Line]:
        run = history.latest
        clusters, units = len(run.clusters), len(run.units)
        size = f"  {counted(clusters, 'cluster')}, {counted(units, 'plan')}"
        yield [(Style.BOLD, "kgitops fleet"), f"{size}  made={run.created} in {run.seconds:.0f} s"]
        found = verdict(run)
        changes = any(unit.change_count for unit in run.units)
        style = Style.RED_BOLD if found.stops else Style.YELLOW_BOLD if changes else Style.BOLD
        for line in wrap(headline(run), self.width):
            yield [(style, line)]
        parts = [f"{count:,} {level.replace('-', ' ')}" for level, count in by_level(run)]
        for told in (action_words(run), ", ".join(parts), beside_words(run)):
            if told:
                yield [f"  {told}"]

    def attention(self, history: History) -> Iterator[Line]:
        """Whatever a person has to look at, the worst first."""
        run = history.latest
        yield from self.failed("NO PLAN", failures(run))
        found = graves(run)
        rows = [(each.unit.name, each.words) for each in found]
        yield from self.rows("DELETIONS AND LOSSES", Style.RED_BOLD, "-", rows, "plan")
        yield from self.failed("REFUSED", refusals(run))
        yield from self.findings(run)
        yield from self.violations(run)
        rows = [(each.unit.name, outlier_words(each)) for each in outliers(run.units)]
        yield from self.rows("OUTLIERS", Style.YELLOW_BOLD, "!", rows, "plan")

    def failed(self, title: str, found: Sequence[Failure]) -> Iterator[Line]:
        rows = [(each.unit.name, each.words) for each in found]
        beside = exit_counts(found) if len(found) > 1 else ""
        yield from self.rows(title, Style.RED_BOLD, "!", rows, "plan", beside)

    def findings(self, run: RunSummary) -> Iterator[Line]:
        if run.findings:
            yield from self.titled("FINDINGS", Style.YELLOW_BOLD, len(run.findings))
            for sentence in self.first(finding_lines(run.findings)):
                yield from self.wrapped("!", Style.YELLOW, sentence)
            yield from self.rest(len(run.findings))

    def violations(self, run: RunSummary) -> Iterator[Line]:
        found = rules(run)
        if not found:
            return
        stops = found[0].standing is PolicyStatus.DENIED
        style = Style.RED_BOLD if stops else Style.YELLOW_BOLD
        yield from self.titled("VIOLATIONS", style, sum(rule.count for rule in found))
        for rule in self.first(found):
            mark = Style.RED if rule.standing is PolicyStatus.DENIED else Style.YELLOW
            yield ["  ", (mark, "!"), f" {_short(rule.policy)} ({rule.level}): {rule.words}"]
            units = [f"{_short(name)} ({count:,})" for name, count in rule.units]
            yield from self.block(names(units, len(units) if self.full else 3))
        yield from self.rest(len(found))

    def numbers(self, history: History) -> Iterator[Line]:
        """What changed since the run before, and all runs in a table."""
        run = history.latest
        found = since(history)
        if found:
            yield from self.compared(found, run)
            yield from self.table(history)
        if run.unplanned:
            yield from self.titled(
                "NO PROJECT IS FOR THESE CLUSTERS", Style.BOLD, len(run.unplanned)
            )
            yield from self.block(names(run.unplanned, len(run.unplanned) if self.full else _MOST))
        most = sorted(run.units, key=lambda unit: (-unit.change_count, unit.name))
        rows = [(unit.name, counted(unit.change_count, "change")) for unit in most]
        changed = [row for row, unit in zip(rows, most, strict=True) if unit.change_count]
        yield from self.rows("MOST CHANGES", Style.BOLD, " ", changed, "plan")

    def compared(self, found: Since, run: RunSummary) -> Iterator[Line]:
        yield []
        yield [(Style.BOLD, f"SINCE {found.created}")]
        yield from self.block([since_words(found, run)], indent=2)
        for what, which in (
            ("no plan any more", found.now_failed),
            ("planned again", found.planned_again),
            ("new clusters", found.new_clusters),
            ("clusters that are gone", found.gone_clusters),
        ):
            if which:
                told = names(which, len(which) if self.full else 3)
                yield from self.block([f"{what} ({len(which):,}): {', '.join(told)}"], indent=2)
        rows = [(each.unit.name, f"{each.before:,} -> {each.after:,}") for each in found.grown]
        yield from self.rows("DRIFT GREW", Style.YELLOW_BOLD, "!", rows, "plan")

    def table(self, history: History) -> Iterator[Line]:
        found = nights(history)
        shown = found if self.full else found[-_NIGHTS:]
        left = history.left_out + len(found) - len(shown)
        yield []
        yield [(Style.BOLD, f"RUNS ({len(found) + history.left_out:,})")]
        yield from _columns(
            ("made", "clusters", "plans", "no plan", "changes", "drift", "denied", "exit"),
            [
                (n.created, n.clusters, n.units, n.failed, n.changes, n.drift, n.denied, n.exit)
                for n in shown
            ],
        )
        if left:
            yield [f"  and {left:,} earlier"]

    def ending(self, history: History) -> Iterator[Line]:
        units = history.latest.units
        told = "declare something for a cluster, and plan again."
        if any(unit.planned for unit in units):
            told = "kgitops fleet summary DIR --cluster NAME shows one plan."
        elif units:
            told = "correct what is said of each plan, and plan again."
        yield []
        yield [(Style.BOLD, f"Next: {told}")]

    def rows(
        self,
        title: str,
        style: Style,
        mark: str,
        found: Sequence[tuple[str, str]],
        noun: str,
        beside: str = "",
    ) -> Iterator[Line]:
        """Names with what is said of each, one column beside the other where they are short."""
        if not found:
            return
        yield from self.titled(title, style, counted(len(found), noun), beside)
        shown = [(_short(name), words) for name, words in self.first(found)]
        column = max(len(terminal_text(name)) for name, _ in shown)
        for name, words in shown:
            text = f"{name}{' ' * (column - len(terminal_text(name)))}  {words}"
            yield from self.wrapped(mark, style, text, hang=column + 2)
        yield from self.rest(len(found))

    def wrapped(self, mark: str, style: Style, text: str, hang: int = 2) -> Iterator[Line]:
        """A row that goes on below itself, as far as its words begin; a path stays whole."""
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

    def titled(
        self, title: str, style: Style, count: int | str, beside: str = ""
    ) -> Iterator[Line]:
        """A heading with how much stands below it."""
        told = f"{count:,}" if isinstance(count, int) else count
        yield []
        yield [(style, f"{title} ({told})"), f"  {beside}" if beside else ""]

    def first(self, found: Sequence[T]) -> Sequence[T]:
        """All of them, or the first ten."""
        return found if self.full else found[:_MOST]

    def rest(self, count: int) -> Iterator[Line]:
        """How many of ``count`` are not shown."""
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
