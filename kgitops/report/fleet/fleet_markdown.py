"""A fleet's runs as a comment on a pull request, within GitHub's limit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgitops.fleet.summary import History, RunSummary, verdict
from kgitops.model.wording import counted, shortened
from kgitops.report.content.policy_rows import PolicyStatus
from kgitops.report.content.safe_text import comment_token, fenced, guarded_line, terminal_text
from kgitops.report.fleet.highlights import (
    action_words,
    beside_words,
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
from kgitops.report.fleet.history import nights, since
from kgitops.report.fleet.outliers import outliers
from kgitops.report.markdown.plan import GITHUB_BUDGET

_LADDER = ((50, 20), (50, 5), (20, 5), (10, 3), (5, 1), (3, 0), (1, 0), (0, 0))
"""How many lines an open part and a folded one may have; the next where the comment is too long."""
_LINE = 400
_NAME = 100
_NIGHTS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines under a title; ``open`` stands unfolded."""

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
    parts = [part for part in _parts(history) if part.lines]
    for step in _LADDER:
        text = "\n".join((_top(history), *(part.markdown(step) for part in parts)))
        if len(text.encode()) <= budget:
            break
    return text


def _top(history: History) -> str:
    run = history.latest
    stops = verdict(run).stops
    grave = bool(graves(run)) or stops
    changes = any(unit.change_count for unit in run.units)
    dot = "🔴" if grave else "🟠" if changes else "🟢"
    size = f"{counted(len(run.clusters), 'cluster')}, {counted(len(run.units), 'plan')}"
    told = "; ".join(words for words in (action_words(run), beside_words(run)) if words)
    lines = [
        f"<!-- kgitops:fleet:{comment_token(run.created[:20])} -->",
        f"### {dot} kgitops fleet plan: {size}\n",
        f"**{headline(run)}**\n",
    ]
    if told:
        lines.append(f"{told[0].upper()}{told[1:]}.\n")
    return "\n".join(lines)


def _parts(history: History) -> Iterator[Part]:
    run = history.latest
    yield _part("No plan", "-", [(each.unit.name, each.words) for each in failures(run)])
    destroyed = [(each.unit.name, each.words) for each in graves(run)]
    yield _part("Deletions and losses", "-", destroyed)
    yield _part("Refused", "-", [(each.unit.name, each.words) for each in refusals(run)])
    yield Part(
        title="Findings", lines=tuple(_line(f"! {each}") for each in finding_lines(run.findings))
    )
    yield Part(title="Violations", lines=tuple(_violations(run)))
    far = [(each.unit.name, outlier_words(each)) for each in outliers(run.units)]
    yield _part("Outliers", "!", far, is_open=False)
    yield from _history(history)
    most = sorted(run.units, key=lambda unit: (-unit.change_count, unit.name))
    changed = [(u.name, counted(u.change_count, "change")) for u in most if u.change_count]
    yield _part("Changes by plan", "#", changed, is_open=False)
    lines = tuple(_line(f"# {_short(name)}") for name in run.unplanned)
    yield Part(title="Clusters without a project", lines=lines, open=False)


def _violations(run: RunSummary) -> Iterator[str]:
    for rule in rules(run):
        mark = "-" if rule.standing is PolicyStatus.DENIED else "!"
        units = ", ".join(names([f"{_short(name)} ({n:,})" for name, n in rule.units], 3))
        yield _line(f"{mark} {_short(rule.policy)} ({rule.level}): {rule.words}: {units}")


def _history(history: History) -> Iterator[Part]:
    found = since(history)
    if found is None:
        return
    lines = [f"# since {found.created}: {since_words(found, history.latest)}"]
    for what, which in (
        ("no plan any more", found.now_failed),
        ("planned again", found.planned_again),
        ("new cluster", found.new_clusters),
        ("cluster is gone", found.gone_clusters),
    ):
        lines += (f"! {what}: {_short(name)}" for name in which)
    lines += (
        f"! drift grew: {_short(each.unit.name)}  {each.before:,} -> {each.after:,}"
        for each in found.grown
    )
    yield Part(title="Since the run before", lines=tuple(map(_line, lines)), open=False)
    rows = (
        f"# {n.created}  {n.changes:,} changes, {n.drift:,} drifted, {n.denied:,} denied, "
        f"{n.failed:,} of {n.units:,} without a plan, exit {int(n.exit)}"
        for n in reversed(nights(history)[-_NIGHTS:])
    )
    yield Part(title="Runs", lines=tuple(map(_line, rows)), open=False)


def _part(title: str, mark: str, rows: Sequence[tuple[str, str]], *, is_open: bool = True) -> Part:
    lines = (f"{mark} {_short(name)}  {words}" for name, words in rows)
    return Part(title=title, lines=tuple(map(_line, lines)), open=is_open)


def _line(text: str) -> str:
    return guarded_line(shortened(terminal_text(text), _LINE))


def _short(name: str) -> str:
    return shortened(name, _NAME)
