"""A change as a row of the page, and the details that open below it."""

import json
from collections.abc import Iterator, Mapping
from datetime import date

from msgspec import Struct

from kgitops.manifests.value_origin import ValueOrigin
from kgitops.model.json.requests import request_to_json
from kgitops.model.registry import Json
from kgitops.model.requests import api_name
from kgitops.model.resources.addresses import object_name
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.plan import Action, Change, FieldChange, PlannedRequest, PolicyResult
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.policy.evaluate.bundle import Outcome
from kgitops.report.content.details import (
    CHECKED,
    REMOVAL,
    field_label,
    field_mark,
    field_moves,
    field_sides,
    labels_text,
    origin_note,
    removal_policy,
    stake,
    warning,
)
from kgitops.report.content.policy_rows import PolicyStatus, policy_status, waiver_sentence
from kgitops.report.content.sections import never_folded, symbol
from kgitops.report.content.units import with_unit
from kgitops.report.content.virtual_clusters import derived, facts
from kgitops.report.html.pieces import statuses_of

_BODY = 2_000
_WAITS = 20
_PLAIN = ("partitions", "replicationFactor")
_WITH_BADGE = tuple(PolicyStatus)[:-1]


class FieldRow(Struct, frozen=True, kw_only=True):
    """A line of the table of fields."""

    mark: str
    label: str
    before: str | None
    after: str | None
    note: str | None = None
    risk: Risk | None = None


class RequestRow(Struct, frozen=True, kw_only=True):
    """A request as it will be sent."""

    id: str
    api: str
    waits: str
    checked: str
    body: str
    physical: tuple[str, ...]


class ResultRow(Struct, frozen=True, kw_only=True):
    """A policy's result that is not a plain pass."""

    status: PolicyStatus
    result: PolicyResult
    waiver: str


class ChangeRow(Struct, frozen=True, kw_only=True):
    """A change; ``brief`` leaves out what the text view says too, where a plan is very large."""

    anchor: str
    change: Change
    symbol: str
    kind: str
    name: str
    warning: str
    stake: str
    place: str
    labels: str
    statuses: tuple[str, ...]
    open: bool
    brief: bool
    risks: tuple[Risk, ...]
    fields: tuple[FieldRow, ...]
    rulings: tuple[ResultRow, ...]
    passed: tuple[str, ...]
    requests: tuple[RequestRow, ...]
    preconditions: tuple[str, ...]
    derived: str

    @property
    def badges(self) -> tuple[str, ...]:
        """The statuses worth a badge."""
        return tuple(each for each in self.statuses if each in _WITH_BADGE)


class ChangeGroup(Struct, frozen=True, kw_only=True):
    """A section's rows below its heading."""

    title: str
    level: RiskLevel
    open: bool
    rows: tuple[ChangeRow, ...]


def row_of(
    change: Change, anchor: str, *, today: date | None, brief: bool, opened: bool
) -> ChangeRow:
    """The row of a change; with ``brief`` a change that can't hurt is shortened."""
    name = object_name(change.address)
    brief = brief and may_be_brief(change)
    return ChangeRow(
        anchor=anchor,
        change=change,
        symbol=symbol(change),
        kind=name.kind,
        name=name.name,
        warning=warning(change),
        stake=stake(change)
        if change.level is not RiskLevel.SAFE or never_folded(change)
        else ", ".join(facts(change)),
        place=f"{change.source.file}:{change.source.line}" if change.source else "",
        labels=labels_text(change),
        statuses=statuses_of(change),
        open=opened,
        brief=brief,
        risks=tuple(risk for risk in change.risks if risk.level is not RiskLevel.SAFE),
        fields=tuple(_fields(change)),
        rulings=tuple(
            ResultRow(
                status=policy_status(result),
                result=result,
                waiver=waiver_sentence(use, today) if (use := result.waiver) else "",
            )
            for result in change.policies
            if result.outcome is not Outcome.PASSED
        ),
        passed=tuple(r.policy for r in change.policies if r.outcome is Outcome.PASSED),
        requests=() if brief else tuple(map(_request, change.requests)),
        preconditions=() if brief else tuple(_preconditions(change)),
        derived=derived(change),
    )


def may_be_brief(change: Change) -> bool:
    """True if nothing about the change needs a second look."""
    plain = all(result.outcome is Outcome.PASSED for result in change.policies)
    return change.level is RiskLevel.SAFE and plain and not never_folded(change)


def _fields(change: Change) -> Iterator[FieldRow]:
    """The changed fields; for a created or deleted object all its fields."""
    if change.before is None or Action.DELETE in change.actions:
        yield from _whole(change)
    if REMOVAL in change.origins and Action.DELETE not in change.actions:
        yield FieldRow(
            mark="+",
            label=REMOVAL,
            before=None,
            after=removal_policy(change),
            note=_from(REMOVAL, change.origins[REMOVAL]),
        )
    changed = {field.path for field in change.fields}
    for path, origin in change.origins.items():
        if origin.removed is not None and path not in changed:
            note = _from(path, origin)
            yield FieldRow(mark="-", label=field_label(path), before=None, after=None, note=note)
    for field in change.fields:
        yield _field(field, change.origins.get(field.path))


def _field(field: FieldChange, origin: ValueOrigin | None) -> FieldRow:
    sides = field_sides(field, full=True)
    moves = field_moves(field) if field.path == "assignments" else None
    return FieldRow(
        mark=field_mark(field),
        label=field_label(field.path),
        before=sides.before,
        after=sides.after,
        note="; ".join(note for note in (moves, sides.note, _from(field.path, origin)) if note)
        or None,
        risk=field.risk,
    )


def _whole(change: Change) -> Iterator[FieldRow]:
    new = change.before is None
    for path, value in _settings((change.after if new else change.before) or {}):
        text = with_unit(path, value)
        yield FieldRow(
            mark="+" if new else "-",
            label=field_label(path),
            before=None if new else text,
            after=text if new else None,
            note=_from(path, change.origins.get(path)),
        )


def _from(path: str, origin: ValueOrigin | None) -> str | None:
    if origin is None:
        return None
    note = origin_note(path, origin, full=True)
    return note if origin.removed is not None else f"from {note}"


def _settings(view: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for key in _PLAIN:
        if key in view:
            yield key, str(view[key])
    for group in ("configs", "quotas"):
        values = view.get(group)
        if isinstance(values, Mapping):
            yield from ((f"{group}.{key}", str(value)) for key, value in values.items())


def _request(planned: PlannedRequest) -> RequestRow:
    waits = ", ".join(planned.depends_on[:_WAITS])
    more = len(planned.depends_on) - _WAITS
    body = json.dumps(request_to_json(planned.request), ensure_ascii=False)
    return RequestRow(
        id=planned.id,
        api=api_name(planned.request),
        waits=f"{waits} and {more:,} more" if more > 0 else waits,
        checked=CHECKED[planned.validated],
        body=shortened(body, _BODY),
        physical=planned.physical,
    )


def _preconditions(change: Change) -> Iterator[str]:
    for item in change.preconditions:
        if not item.exists:
            yield f"{item.object} does not exist"
            continue
        parts = [f"{item.object} exists"]
        parts += [f"its topic id is {item.topic_id}"] if item.topic_id else []
        parts.append(f"managed by {item.owner}" if item.owner else "not managed")
        yield ", ".join(parts)
        for path, value in item.fields.items():
            yield f"{path} is {'not set' if value is None else value}"


def hidden_in_brief(rows: int) -> str:
    """The note on a page with ``rows`` brief rows."""
    return (
        f"This plan is large, so {counted(rows, 'change')} without risk or violation "
        "are shown here without their requests and preconditions."
    )
