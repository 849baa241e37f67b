"""A plan cut into pieces for a comment: each can be shown in full, in rows, or counted.

What must never be left out (deletions, lost data, lost access, refusals, what a policy denies or
a waiver lifts) is in every variant of its piece.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.report.content.details import Detail, details, labels_text, stake, warning
from kgitops.report.content.lowering import lowering_counts, lowering_rows
from kgitops.report.content.policy_rows import (
    PolicyStatus,
    ViolationGroup,
    denying,
    status_counts,
    violation_groups,
)
from kgitops.report.content.safe_text import terminal_text
from kgitops.report.content.sections import (
    FOLD_ABOVE,
    Grouping,
    Section,
    blocks,
    hurts,
    kind_word,
    name_patterns,
    sections,
)
from kgitops.report.content.statements import (
    drift_sentence,
    loss_sentence,
    other_losses,
    reason_lines,
    reasons_besides_denials,
)
from kgitops.report.content.virtual_clusters import (
    VirtualClusterSummary,
    summary_line,
    virtual_cluster_summaries,
)
from kgitops.report.markdown.policies import Depth, policy_variants

# What GitHub colours in a diff: - red, + green, ! orange, # grey.
_MARKS = {
    Action.CREATE: "+",
    Action.UPDATE: "!",
    Action.DELETE: "-",
    Action.ADOPT: "#",
    Action.FORGET: "#",
}
_LONGEST_LINE = 1_500
_SHORT_NAME = 100


class Rank(IntEnum):
    """The order of shortening; an open piece is not folded and comes last."""

    SAFE = 0
    DISRUPTIVE = 1
    OPEN = 2


class Piece(Struct, frozen=True, kw_only=True):
    """One group of lines, by depth.

    ``elided`` are the changes that COUNT does not name; ``changes`` how many the piece is about.
    ``unfolded``: it is open though its rank is another, because the plan is small.
    """

    title: str
    variants: tuple[tuple[str, ...], ...]
    rank: Rank
    changes: int = 0
    elided: tuple[Change, ...] = ()
    unfolded: bool = False

    def lines(self, depth: Depth) -> tuple[str, ...]:
        """The lines at ``depth``, or at the piece's last one where it has no further."""
        return self.variants[min(depth, len(self.variants) - 1)]


def pieces(plan: Plan, sealed: SealedPlan | None = None) -> tuple[Piece, ...]:
    """Everything a comment shows, the most important first."""
    judged = violation_groups(plan)
    denying_groups = tuple(group for group in judged if group.status is PolicyStatus.DENIED)
    parts = [
        _fixed("Stops", [f"! {line}" for line in reason_lines(reasons_besides_denials(plan))]),
        _policy(plan, denying_groups, sealed, tallied=True),
        *(_of_section(section) for section in sections(plan) if _rank(section) is Rank.OPEN),
        _fixed("Rights lost", [f"! {loss_sentence(loss)}" for loss in other_losses(plan)]),
        # Denials come before the losses, advice and waived violations after them.
        _policy(plan, judged[len(denying_groups) :], sealed, tallied=not denying_groups),
        _listed("Drift", [f"! {drift_sentence(drift, full=False)}" for drift in plan.drift]),
        _listed(
            "Warnings",
            [
                f"! {f'{warned.source}: ' if warned.source else ''}{warned.problem}; "
                f"{warned.advice}"
                for warned in plan.warnings
            ],
        ),
        _listed("Virtual clusters", [_summary(each) for each in virtual_cluster_summaries(plan)]),
        _lowering(plan),
        *(_of_section(section) for section in sections(plan) if _rank(section) is not Rank.OPEN),
    ]
    shown = tuple(piece for piece in parts if piece.variants[0])
    if len(plan.changes) > FOLD_ABOVE:
        return shown
    return tuple(
        replace(piece, unfolded=bool(piece.changes) or len(piece.variants[0]) <= FOLD_ABOVE)
        for piece in shown
    )


def _summary(summary: VirtualClusterSummary) -> str:
    mark = "-" if summary.lost else "!" if summary.cut_over else "#"
    return f"{mark} {summary.name}: {summary_line(summary)}"


def _lowering(plan: Plan) -> Piece:
    """The lowering report, folded; only its counts where room is short."""
    lines: list[str] = []
    for row in lowering_rows(plan, full=False):
        lines.append(f"! {row.group.head}: {row.group.text}")
        lines += [f"#     {text}" for text in (row.names, row.more) if text]
    few = (f"# {lowering_counts(plan)}: kgitops show --full",) if lines else ()
    return Piece(
        title=f"Lowering ({len(plan.lowering):,})",
        variants=(tuple(map(_line, lines)), few),
        rank=Rank.DISRUPTIVE,
    )


def _rank(section: Section) -> Rank:
    if any(map(hurts, section.changes)):
        return Rank.OPEN
    return Rank.SAFE if section.level is RiskLevel.SAFE else Rank.DISRUPTIVE


def _policy(
    plan: Plan, groups: tuple[ViolationGroup, ...], sealed: SealedPlan | None, *, tallied: bool
) -> Piece:
    variants = policy_variants(plan, groups, sealed, tallied=tallied)
    return Piece(
        title=f"Policy ({status_counts(groups)})",
        variants=tuple(tuple(map(_line, variants[depth])) for depth in Depth),
        rank=Rank.OPEN,
    )


def _of_section(section: Section) -> Piece:
    changes = section.changes
    counted_only = tuple(change for change in changes if not hurts(change))
    kept = tuple(_row(change) for change in changes if hurts(change))
    return Piece(
        title=f"{section.title.capitalize()} ({len(changes):,})",
        variants=(
            tuple(_full(section)),
            (*kept, *_names(counted_only)),
            (*kept, *_counts(counted_only)),
        ),
        rank=_rank(section),
        changes=len(changes),
        # What is denied has its line among the policies, however little is shown here.
        elided=tuple(change for change in counted_only if not change.denied),
    )


def _full(section: Section) -> Iterator[str]:
    for block in blocks(section, Grouping.ALIKE):
        first = block.changes[0]
        if len(block.changes) == 1:
            head = _head(first, f"{_name(first)}{_place(first)}")
            yield _line(f"{head}{_denied(first)}")
            yield from _indented(details(first, full=False))
            continue
        yield _line(_head(first, counted(len(block.changes), kind_word(block.changes))))
        yield from _indented(block.shared)
        for change in block.changes:
            held = stake(change)
            text = f"{_mark(change)}     {_name(change)}{_place(change)}  {held}".rstrip()
            yield _line(f"{text}{_denied(change)}")


def _indented(lines: Iterable[Detail]) -> Iterator[str]:
    return (_line(f"      {_detail(detail)}") for detail in lines)


def _row(change: Change) -> str:
    head = _head(change, f"{_name(change)}{_place(change)}")
    # A deletion says in every form which topic it is and what it holds.
    held = stake(change) if Action.DELETE in change.actions else ""
    return _line(f"{f'{head}  {held}'.rstrip()}{_denied(change)}")


def _head(change: Change, what: str) -> str:
    code = _code(change.risk, warning(change))
    return f"{_mark(change)} {' and '.join(change.actions)} {what}  {code}"


def _denied(change: Change) -> str:
    policies = denying(change)
    return f"  DENIED by {', '.join(policies)}" if policies else ""


def _mark(change: Change) -> str:
    return _MARKS[change.actions[-1]]


def _place(change: Change) -> str:
    place = f"{change.source.file}:{change.source.line}" if change.source else ""
    notes = ", ".join(text for text in (place, labels_text(change)) if text)
    return f" ({notes})" if notes else ""


def _name(change: Change) -> str:
    return str(object_name(change.address))


def _detail(detail: Detail) -> str:
    risk = detail.risk
    if not detail.label:
        return f"{_code(risk, detail.value)}" if risk else detail.value
    note = f"  {_code(risk, risk.text)}" if risk and risk.level is not RiskLevel.SAFE else ""
    return f"{detail.symbol} {detail.label}: {detail.value}{note}"


def _code(risk: Risk, text: str) -> str:
    return f"{risk.code} {risk.name}{f': {text}' if text else ''}"


def _names(changes: Sequence[Change]) -> Iterator[str]:
    """One short row an object below a line for what they have in common."""
    for group in _groups(changes):
        yield _line(_head(group[0], counted(len(group), kind_word(group))))
        for change in group:
            yield _line(f"{_mark(change)}     {_name(change)}{_denied(change)}")


def _counts(changes: Sequence[Change]) -> Iterator[str]:
    for group in _groups(changes):
        names = ", ".join(shortened(name, _SHORT_NAME) for name in name_patterns(group))
        yield _line(f"{_head(group[0], counted(len(group), kind_word(group)))}  {names}")


def _groups(changes: Sequence[Change]) -> Iterable[list[Change]]:
    groups: dict[object, list[Change]] = {}
    for change in changes:
        groups.setdefault((change.kind, change.actions, change.risk), []).append(change)
    return groups.values()


def _fixed(title: str, lines: Sequence[str]) -> Piece:
    """Lines that are always all there."""
    return Piece(
        title=f"{title} ({len(lines):,})", variants=(tuple(map(_line, lines)),), rank=Rank.OPEN
    )


def _listed(title: str, lines: Sequence[str]) -> Piece:
    """Lines of which the first few are enough when room is short."""
    safe = tuple(map(_line, lines))
    few = safe
    if len(safe) > FOLD_ABOVE:
        few = (*safe[:FOLD_ABOVE], f"# and {len(safe) - FOLD_ABOVE:,} more: kgitops show --full")
    count = (f"# {len(safe):,}: kgitops show --full",) if safe else ()
    return Piece(title=f"{title} ({len(safe):,})", variants=(safe, few, count), rank=Rank.OPEN)


def _line(text: str) -> str:
    return shortened(terminal_text(text), _LONGEST_LINE)
