"""Drift as text for a person: object by object, what others did, and by whom if that is known."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted
from kgitops.plan.document.file import SealedPlan
from kgitops.plan.document.plan import Drift, FieldChange, Plan
from kgitops.report.content.details import field_detail
from kgitops.report.content.safe_text import Line, Style, render_lines, terminal_text
from kgitops.report.content.statements import (
    kept_counts,
    reason_lines,
    unfinished_run_sentence,
    verdict_sentence,
)

_SHOWN = 100
_WHOLE = {
    "missing": (Style.RED, "-", "deleted"),
    "recreated": (Style.RED, "-", "deleted and re-created"),
}
_LOGIN = "does not log in; change version to set it again"
_STAYS = {"undeclared": "not declared", "stays": "can't be undone", "login": _LOGIN}


def render_drift(
    sealed: SealedPlan,
    *,
    full: bool = False,
    colour: bool = False,
) -> str:
    """The drift for a terminal or a log; with ``full`` every object and whole values."""
    plan = sealed.plan
    page = _Page(full=full)
    lines = [*_header(plan, sealed), *page.objects(plan), *_other(plan), [], *page.ending(plan)]
    return render_lines(lines, colour=colour, ascii_only=False)


def _header(plan: Plan, sealed: SealedPlan) -> Iterator[Line]:
    target = plan.target
    where = f"  cluster={target.name} (id {target.cluster_id}, {target.backend})"
    yield [(Style.BOLD, "kgitops drift"), where]
    yield [f"  project={plan.desired.project}  base={sealed.captured_at}"]
    if unfinished := unfinished_run_sentence(sealed):
        yield [(Style.YELLOW, f"  unfinished: {terminal_text(unfinished)}")]


def _other(plan: Plan) -> Iterator[Line]:
    if plan.warnings:
        yield []
        yield [(Style.YELLOW_BOLD, f"WARNINGS ({len(plan.warnings):,})")]
        for warning in plan.warnings:
            yield ["  ", (Style.YELLOW, "!"), f" {warning.problem}"]
    if plan.kept:
        yield []
        rules = ", ".join(f"{count:,} {meaning}" for meaning, count, _ in kept_counts(plan))
        yield [(Style.BOLD, "KEPT"), f"  {rules}"]


class _Page(Struct, frozen=True, kw_only=True):
    full: bool

    def objects(self, plan: Plan) -> Iterator[Line]:
        """One block for each object."""
        if not plan.drift:
            return
        objects = [(name, list(rows)) for name, rows in groupby(plan.drift, lambda r: r.address)]
        yield []
        count = counted(len(objects), "object")
        yield [(Style.YELLOW_BOLD, f"DRIFT ({counted(len(plan.drift), 'difference')}, {count})")]
        origins = {change.address: change.origins for change in plan.changes if change.origins}
        shown = objects if self.full else objects[:_SHOWN]
        for address, rows in shown:
            yield from self.object(address, rows, origins.get(address, {}))
        if len(shown) < len(objects):
            yield [f"  and {len(objects) - len(shown):,} more   all: --full"]

    def object(
        self, address: str, rows: Sequence[Drift], origins: Mapping[str, ValueOrigin]
    ) -> Iterator[Line]:
        """The object with the drift of the whole of it, then its fields."""
        whole = next((row for row in rows if row.rule in _WHOLE), None)
        name = (Style.BOLD, str(object_name(address)))
        if whole is None:
            yield ["  ", (Style.YELLOW, "~"), " ", name]
        else:
            style, symbol, what = _WHOLE[whole.rule]
            ids = f": topic id {whole.last_applied} -> {whole.found}" if whole.path else ""
            yield ["  ", (style, symbol), " ", name, f"  {what}{ids}{_by(whole)}"]
        fields = [row for row in rows if row is not whole]
        changes = (
            FieldChange(path=row.path, before=row.last_applied, after=row.found, risk=None)
            for row in fields
        )
        details = [
            field_detail(change, full=self.full, origin=origins.get(change.path))
            for change in changes
        ]
        label = max((len(detail.label) for detail in details), default=0)
        value = min(max((len(detail.value) for detail in details), default=0), 60)
        for row, detail in zip(fields, details, strict=True):
            notes = f"  ({_STAYS[row.rule]})" if row.rule in _STAYS else ""
            # What a topic was made with has no author but who made it.
            by = "" if whole else _by(row)
            text = f"{detail.symbol} {detail.label:<{label}}  {detail.value:<{value}}"
            yield [f"      {text}{notes}{by}"]

    def ending(self, plan: Plan) -> Iterator[Line]:
        """The result, and the next step."""
        stops = verdict_sentence(plan)
        if stops:
            for reason in reason_lines(plan.verdict.reasons):
                yield ["  ", (Style.RED, "!"), f" {reason}"]
            yield [(Style.RED_BOLD, stops)]
        elif not plan.drift:
            managed = sum(plan.managed_counts.values())
            yield [(Style.BOLD, f"No drift. {_as_applied(managed)}")]
        else:
            if not any(row.by for row in plan.drift):
                yield ["By whom is unknown: this cluster keeps no record of it."]
            yield [(Style.BOLD, "Next: kgitops plan shows what the manifests make of it.")]


def _by(row: Drift) -> str:
    """``  by User:alice, 2026-11-21T09:12:07Z``, or nothing."""
    return f"  by {row.by}, {row.at}" if row.by else ""


def _as_applied(managed: int) -> str:
    if not managed:
        return "This project manages nothing on this cluster yet."
    objects = (
        "1 object that this project manages is as it was"
        if managed == 1
        else (f"All {managed:,} objects that this project manages are as they were")
    )
    return f"{objects} last applied."
