"""A plan as text for a person: risk first, one line a change, nothing dangerous folded away."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from msgspec import Struct

from kgitops.model import clock
from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.kinds import Kind
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Action, Change, Plan
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.report.content.details import Detail, details, labels_text, stake, warning
from kgitops.report.content.policy_rows import denying
from kgitops.report.content.safe_text import Line, Part, Style, render_lines, terminal_text
from kgitops.report.content.sections import (
    FOLD_ABOVE,
    SYMBOLS,
    Block,
    Grouping,
    Section,
    blocks,
    kind_word,
    sections,
    symbol,
    worst_level,
)
from kgitops.report.content.statements import (
    checked_sentence,
    drift_sentence,
    kept_counts,
    loss_sentence,
    notes,
    other_losses,
    plan_headline,
    reason_lines,
    reasons_besides_denials,
    summary_sentence,
    unfinished_run_sentence,
    verdict_sentence,
)
from kgitops.report.text.plan_sections import lowering_lines, policy_lines, virtual_cluster_lines

_NARROWEST, _WIDEST = 80, 160
_LABEL_WIDTH = 12
_STYLES = {
    Action.CREATE: Style.GREEN,
    Action.UPDATE: Style.YELLOW,
    Action.DELETE: Style.RED,
    Action.ADOPT: Style.CYAN,
    Action.FORGET: Style.DIM,
}
_LEVEL_STYLES = {
    RiskLevel.DATA_LOSS: Style.RED_BOLD,
    RiskLevel.ACCESS_LOSS: Style.RED_BOLD,
    RiskLevel.DISRUPTIVE: Style.YELLOW_BOLD,
    RiskLevel.SAFE: Style.BOLD,
}


def render_text(
    plan: Plan,
    *,
    sealed: SealedPlan | None = None,
    full: bool = False,
    colour: bool = False,
    width: int = 100,
    ascii: bool = False,  # noqa: A002 (the flag's name)
    saved_as: str | None = None,
) -> str:
    """The plan for a terminal or a log.

    Args:
        plan: what to show.
        sealed: its envelope; gives the base's time, and the digest and expiry at the end.
        full: show every change by itself, every value whole, and the requests.
        colour: use ANSI colours; nothing depends on them.
        width: how wide the text may be where that can be chosen, 80 to 160.
        ascii: escape every other character.
        saved_as: the plan's file, for the next command.
    """
    page = _Page(full=full, width=max(_NARROWEST, min(_WIDEST, width)))
    lines = [
        *page.header(plan, sealed),
        *page.changes(plan),
        *virtual_cluster_lines(plan, full=full, width=page.width),
        *lowering_lines(plan, full=full),
        *page.drift(plan),
        *page.other(plan),
        *policy_lines(plan, sealed, full=full, width=page.width),
        *page.ending(plan, sealed, saved_as),
    ]
    return render_lines(lines, colour=colour, ascii_only=ascii)


class _Columns(Struct, frozen=True, kw_only=True):
    """The column at which the sources begin, and the width of the sources."""

    source: int
    risk: int


class _Page(Struct, frozen=True):
    full: bool
    width: int

    def header(self, plan: Plan, sealed: SealedPlan | None) -> Iterator[Line]:
        target, desired = plan.target, plan.desired
        yield [(_LEVEL_STYLES[worst_level(plan)], plan_headline(plan))]
        where = f"  cluster={target.name} (id {target.cluster_id}, {target.backend})"
        dirty = " (uncommitted changes)" if desired.dirty else ""
        git = f"  git={desired.git_sha[:12]}{dirty}" if desired.git_sha else ""
        base = sealed.captured_at if sealed and sealed.captured_at else plan.base.digest[:19]
        yield [where]
        yield [f"  project={desired.project}{git}  base={base}"]
        yield from ([(Style.DIM, f"  note: {note}")] for note in notes(plan))
        if unfinished := unfinished_run_sentence(sealed):
            yield [(Style.YELLOW, f"  unfinished: {terminal_text(unfinished)}")]

    def changes(self, plan: Plan) -> Iterator[Line]:
        losses_shown = False
        for section in sections(plan):
            if (
                section.level not in (RiskLevel.DATA_LOSS, RiskLevel.ACCESS_LOSS)
                and not losses_shown
            ):
                yield from self.losses(plan)
                losses_shown = True
            yield []
            count = len(section.changes)
            yield [(_LEVEL_STYLES[section.level], f"{section.title} ({count:,})")]
            yield from self.section(section)
        if not losses_shown:
            yield from self.losses(plan)

    def losses(self, plan: Plan) -> Iterator[Line]:
        losses = other_losses(plan)
        if losses:
            yield []
            others = len(losses) < len(plan.access_losses)
            title = "OTHER RIGHTS LOST" if others else "RIGHTS LOST"
            yield [(Style.RED_BOLD, f"{title} ({len(losses):,})")]
            for loss in losses:
                yield ["  ", (Style.RED, "!"), f" {loss_sentence(loss)}"]

    def section(self, section: Section) -> Iterator[Line]:
        shown = blocks(section, Grouping.ALONE if self.full else Grouping.FOLDED)
        named = [change for block in shown if not block.patterns for change in block.changes]
        columns = {
            kind: self.columns([change for change in named if change.kind is kind]) for kind in Kind
        }
        for block in shown:
            yield from self.block(block, columns[block.changes[0].kind])

    def block(self, block: Block, columns: _Columns) -> Iterator[Line]:
        first = block.changes[0]
        if len(block.changes) == 1 and not block.patterns:
            yield [*self.row(first, columns), *_risk(first), *_labels(first), *_denied(first)]
            yield from self.details(details(first, full=self.full))
            return
        what = counted(len(block.changes), kind_word(block.changes))
        yield ["  ", _marked(first), f" {what}{_totals(block)}  ", *_risk(first)]
        yield from self.details(block.shared)
        if block.patterns:
            yield from ([f"      {line}"] for line in self.wrapped(block.patterns))
            return
        for change in block.changes:
            row = self.row(change, columns)[1:]
            yield ["    ", *row, stake(change), *_labels(change), *_denied(change)]

    def row(self, change: Change, columns: _Columns) -> list[Part]:
        name = terminal_text(str(object_name(change.address)))
        gap = " " * max(2, columns.source - len(name))
        source = f"{_place(change):<{columns.risk}}  "
        return ["  ", _marked(change), " ", (Style.BOLD, name), gap, source]

    def wrapped(self, names: Sequence[str]) -> list[str]:
        text = f"{', '.join(map(terminal_text, names))}   all: --full"
        return wrap(text, self.width - 6, break_long_words=False, break_on_hyphens=False)

    def details(self, lines: Iterable[Detail]) -> Iterator[Line]:
        rows = list(lines)
        label = min(max((len(row.label) for row in rows), default=0), self.width // 3)
        values = [len(row.value) for row in rows if row.label]
        value = min(max(values, default=0), self.width // 2)
        for row in rows:
            yield self.detail(row, label, value)

    def detail(self, row: Detail, label: int, value: int) -> list[Part]:
        if not row.label:
            if row.risk is None:
                return [f"      {row.value}"]
            return ["      ", *_coded(row.risk, row.value)]
        line: list[Part] = [f"      {row.symbol} {row.label:<{label}}  {row.value:<{value}}"]
        if row.risk is not None and row.risk.level is not RiskLevel.SAFE:
            line += ["  ", *_coded(row.risk, row.risk.text)]
        return line

    def columns(self, changes: Sequence[Change]) -> _Columns:
        """Wide enough for most, and not so wide that what follows is pushed out of sight."""
        names = (len(str(object_name(change.address))) for change in changes)
        places = (len(_place(change)) for change in changes)
        return _Columns(
            source=min(max(names, default=0) + 2, max(self.width - 36, self.width // 2)),
            risk=min(max(places, default=0), self.width // 3),
        )

    def drift(self, plan: Plan) -> Iterator[Line]:
        if not plan.drift:
            return
        yield []
        yield [(Style.YELLOW_BOLD, f"DRIFT ({len(plan.drift):,})")]
        shown = plan.drift if self.full else plan.drift[:FOLD_ABOVE]
        yield from ([f"  {drift_sentence(drift, full=self.full)}"] for drift in shown)
        if len(shown) < len(plan.drift):
            yield [f"  and {len(plan.drift) - len(shown):,} more   all: --full"]

    def other(self, plan: Plan) -> Iterator[Line]:
        if plan.warnings:
            yield []
            yield [(Style.YELLOW_BOLD, f"WARNINGS ({len(plan.warnings):,})")]
            for warning in plan.warnings:
                place = f"{warning.source}: " if warning.source else ""
                yield ["  ", (Style.YELLOW, "!"), f" {place}{warning.problem}; {warning.advice}"]
        checked = checked_sentence(plan)
        if plan.kept or checked:
            yield []
        if plan.kept:
            rules = ", ".join(f"{count:,} {meaning}" for meaning, count, _ in kept_counts(plan))
            yield [(Style.BOLD, f"{f'KEPT ({len(plan.kept):,})':<{_LABEL_WIDTH}}"), f" {rules}"]
            if self.full:
                for meaning, _, addresses in kept_counts(plan):
                    yield from ([f"  {address}  ({meaning})"] for address in addresses)
        if checked:
            yield [(Style.BOLD, f"{'CHECKED':<{_LABEL_WIDTH}}"), f" {checked}"]

    def ending(self, plan: Plan, sealed: SealedPlan | None, saved_as: str | None) -> Iterator[Line]:
        sentence = verdict_sentence(plan)
        stops = reasons_besides_denials(plan)
        if stops:
            yield []
            yield [(Style.RED_BOLD, f"STOPS ({len(stops):,})")]
            for line in reason_lines(stops):
                yield ["  ", (Style.RED, "!"), f" {line}"]
        yield []
        yield [(Style.BOLD, summary_sentence(plan))]
        if sentence:
            yield [(Style.RED_BOLD, sentence)]
        if sealed and (plan.changes or sentence):
            yield [f"plan {sealed.plan_digest}"]
            if saved_as and not sentence:
                expires = clock.to_text(sealed.expires)
                yield [f"expires {expires}  next: kgitops apply {saved_as}"]
        if plan.changes:
            yield [(Style.DIM, _legend(plan))]


def _marked(change: Change) -> Part:
    return _STYLES[change.actions[-1]], symbol(change)


def _risk(change: Change) -> list[Part]:
    return _coded(change.risk, warning(change))


def _denied(change: Change) -> list[Part]:
    policies = denying(change)
    return ["  ", (Style.RED_BOLD, f"DENIED by {', '.join(policies)}")] if policies else []


def _coded(risk: Risk, text: str) -> list[Part]:
    style = _LEVEL_STYLES[risk.level]
    code = f"{risk.code} {risk.name}"
    if risk.level is RiskLevel.SAFE:
        return [code]
    return [(style, code), "  ", (style, f"! {text}")] if text else [(style, code)]


def _place(change: Change) -> str:
    return f"{change.source.file}:{change.source.line}" if change.source else ""


def _labels(change: Change) -> list[Part]:
    labels = labels_text(change)
    return [(Style.DIM, f"  ({labels})")] if labels else []


def _totals(block: Block) -> str:
    """The total of partitions of many new topics."""
    if block.changes[0].actions != (Action.CREATE,):
        return ""
    partitions = [change.impact.get("partitions") for change in block.changes]
    numbers = [number for number in partitions if isinstance(number, int)]
    return f", {counted(sum(numbers), 'partition')}" if numbers and block.patterns else ""


def _legend(plan: Plan) -> str:
    used = {action for change in plan.changes for action in change.actions}
    symbols = [f"{SYMBOLS[action]} {action}" for action in SYMBOLS if action in used]
    risky = any(
        risk.level is not RiskLevel.SAFE for change in plan.changes for risk in change.risks
    )
    return "  ".join([*symbols, *(["! risk"] if risky else [])])
