"""The policies' part of a plan's text: what is denied, waived and advised, and how much passed."""

from collections.abc import Iterator, Sequence
from datetime import date
from textwrap import wrap

from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Plan
from kgitops.report.content.lowering import lowering_counts, lowering_rows
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationGroup,
    ViolationRow,
    group_heading,
    remedy,
    status_counts,
    tally,
    today_of,
    violation_groups,
    waiver_sentence,
)
from kgitops.report.content.safe_text import Line, Style, terminal_text
from kgitops.report.content.sections import FOLD_ABOVE, name_patterns
from kgitops.report.content.virtual_clusters import (
    count_named,
    summary_line,
    virtual_cluster_summaries,
)

_LABEL_WIDTH = 12
_WIDEST_NAME = 48
_STYLES = {
    PolicyStatus.DENIED: Style.RED_BOLD,
    PolicyStatus.WAIVED: Style.YELLOW_BOLD,
    PolicyStatus.ADVISED: Style.YELLOW,
}
_FOLDED = (PolicyStatus.ADVISED, PolicyStatus.NOTED)


def policy_lines(
    plan: Plan, sealed: SealedPlan | None, *, full: bool, width: int
) -> Iterator[Line]:
    """One line where all passed; else each violation once, and the tally.

    Where many objects are denied with the same words they are counted by prefix: each is marked
    in its own row of the plan.
    """
    groups = violation_groups(plan)
    today = today_of(sealed)
    if not groups:
        if plan.policies_loaded:
            label = (Style.BOLD, f"{'POLICY':<{_LABEL_WIDTH}}")
            yield [label, f" {tally(plan, today)}"]
        return
    yield []
    yield [(_STYLES.get(groups[0].status, Style.BOLD), f"POLICY ({status_counts(groups)})")]
    for group in groups:
        yield ["  ", (_STYLES.get(group.status, Style.PLAIN), group_heading(group))]
        yield from _violations(group, today, full=full, width=width)
        if group.status is not PolicyStatus.WAIVED and (do := remedy(group)):
            yield [f"    {do}"]
    yield [f"  {tally(plan, today)}"]


def _violations(
    group: ViolationGroup, today: date | None, *, full: bool, width: int
) -> Iterator[Line]:
    mark = "! " if group.status is PolicyStatus.DENIED else ""
    shown = list(group.by_message())
    hidden = 0
    if len(shown) > FOLD_ABOVE and group.status in _FOLDED and not full:
        hidden = sum(len(rows) for _, rows in shown[FOLD_ABOVE:])
        shown = shown[:FOLD_ABOVE]
    alone = [_name(rows[0]) for _, rows in shown if len(rows) == 1]
    column = min(max(map(len, alone), default=0), _WIDEST_NAME)
    for message, rows in shown:
        if len(rows) == 1 or group.status is PolicyStatus.WAIVED:
            for row in rows:
                yield [f"    {mark}{_placed(row, column)}  {message}"]
                yield from _more(row, today, full=full)
            continue
        yield [f"    {mark}{message}: {counted(len(rows), 'object')}"]
        if full or len(rows) <= FOLD_ABOVE:
            widest = min(max(len(_name(row)) for row in rows), _WIDEST_NAME)
            for row in rows:
                yield [f"      {_placed(row, widest)}"]
                yield from _more(row, today, full=full)
            continue
        names = name_patterns([row.change for row in rows])
        yield from ([f"      {line}"] for line in _wrapped(names, width))
    if hidden:
        yield [f"    and {hidden:,} more   all: --full"]


def _more(row: ViolationRow, today: date | None, *, full: bool) -> Iterator[Line]:
    if row.result.waiver:
        yield [f"        {waiver_sentence(row.result.waiver, today)}"]
    if full and row.result.fingerprint:
        yield [f"        fingerprint {row.result.fingerprint}"]


def _placed(row: ViolationRow, column: int) -> str:
    place = f"  {row.place}" if row.place else ""
    return f"{_name(row):<{column}}{place}"


def _name(row: ViolationRow) -> str:
    return terminal_text(str(object_name(row.change.address)))


def _wrapped(names: Sequence[str], width: int) -> list[str]:
    text = f"{', '.join(map(terminal_text, names))}   all: --full"
    return wrap(text, width - 6, break_long_words=False, break_on_hyphens=False)


def virtual_cluster_lines(plan: Plan, *, full: bool, width: int) -> Iterator[Line]:
    """One line for each virtual cluster that changes; nothing where none does."""
    summaries = virtual_cluster_summaries(plan)
    if not summaries:
        return
    yield []
    yield [(Style.BOLD, f"VIRTUAL CLUSTERS ({count_named(summaries):,})")]
    shown = summaries if full else summaries[:FOLD_ABOVE]
    name_width = min(max(len(each.name) for each in shown), width // 3)
    for each in shown:
        style = Style.RED if each.lost else Style.YELLOW if each.cut_over else Style.BOLD
        name = f"{terminal_text(each.name):<{name_width}}"
        yield ["  ", (style, name), f"  {summary_line(each)}"]
    if len(shown) < len(summaries):
        yield [f"  and {len(summaries) - len(shown):,} more   all: --full"]


def lowering_lines(plan: Plan, *, full: bool) -> Iterator[Line]:
    """The lowering report, by reason; nothing where all is kept exactly."""
    if not plan.lowering:
        return
    # Where nothing changes, who reads it has read the lines with the plan that made it so.
    folded = not plan.changes and not full
    counts = lowering_counts(plan)
    summary = f"what this Kafka does not keep exactly: {counts}" if counts else ""
    yield []
    head = f"LOWERING ({len(plan.lowering):,})"
    yield [(Style.YELLOW_BOLD, head), f"  {summary}{'   all: --full' if folded else ''}"]
    if folded:
        return
    for row in lowering_rows(plan, full=full):
        yield ["  ", (Style.BOLD, row.group.head), f"  {row.group.text}"]
        if row.subjects:
            yield [f"      {row.names}{'   all: --full' if row.left_out else ''}"]
        if row.more:
            yield [f"      {row.more}   all: --full"]
