"""What a plan's text says of virtual clusters, and of how they are kept on a Kafka without them."""

from collections.abc import Iterator

from kgitops.plan.document.plan import Plan
from kgitops.report.content.folding import FOLD_ABOVE
from kgitops.report.content.ink import Line, Style
from kgitops.report.content.lowering import lowering_counts, lowering_rows
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.content.virtual_clusters import (
    count_named,
    summary_line,
    virtual_cluster_summaries,
)


def virtual_cluster_lines(plan: Plan, *, full: bool, width: int) -> Iterator[Line]:
    """One line for each virtual cluster that changes; nothing where none does."""
    found = virtual_cluster_summaries(plan)
    if not found:
        return
    yield []
    yield [(Style.BOLD, f"VIRTUAL CLUSTERS ({count_named(found):,})")]
    shown = found if full else found[:FOLD_ABOVE]
    name_width = min(max(len(each.name) for each in shown), width // 3)
    for each in shown:
        style = Style.RED if each.lost else Style.YELLOW if each.cut_over else Style.BOLD
        name = f"{terminal_text(each.name):<{name_width}}"
        yield ["  ", (style, name), f"  {summary_line(each)}"]
    if len(shown) < len(found):
        yield [f"  and {len(found) - len(shown):,} more   all: --full"]


def lowering_lines(plan: Plan, *, full: bool) -> Iterator[Line]:
    """What is not kept exactly, by reason; nothing where all is."""
    if not plan.lowering:
        return
    # Where nothing changes, who reads it has read the lines with the plan that made it so.
    folded = not plan.changes and not full
    counts = lowering_counts(plan)
    said = f"what this Kafka does not keep exactly: {counts}" if counts else ""
    yield []
    head = f"LOWERING ({len(plan.lowering):,})"
    yield [(Style.YELLOW_BOLD, head), f"  {said}{'   all: --full' if folded else ''}"]
    if folded:
        return
    for row in lowering_rows(plan, full=full):
        yield ["  ", (Style.BOLD, row.group.head), f"  {row.group.text}"]
        if row.subjects:
            yield [f"      {row.names}{'   all: --full' if row.left_out else ''}"]
        if row.more:
            yield [f"      {row.more}   all: --full"]
