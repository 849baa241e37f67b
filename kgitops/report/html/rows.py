"""A change as a row of the page: what is always seen of it, and what opens below."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from kgitops.model.json.requests import request_to_json
from kgitops.model.registry import Json
from kgitops.model.requests import api_name
from kgitops.model.resources.object_names import object_name
from kgitops.model.wording import counted, shortened
from kgitops.plan.document.plan import Action, Change, FieldChange, PlannedRequest
from kgitops.plan.document.policies import PolicyResult
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.policy.evaluate.verdict import Outcome
from kgitops.report.content.details import (
    CHECKED,
    field_label,
    field_mark,
    field_moves,
    field_sides,
    labels_text,
    stake,
    warning,
)
from kgitops.report.content.policy_rows import Standing, standing, waiver_sentence
from kgitops.report.content.sections import never_folded, symbol
from kgitops.report.content.units import with_unit
from kgitops.report.content.virtual_clusters import derived, facts
from kgitops.report.html.pieces import standings_of

_BODY = 2_000
_WAITS = 20
_PLAIN = ("partitions", "replicationFactor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A line of the table of fields."""

    mark: str
    label: str
    before: str | None
    after: str | None
    note: str | None = None
    risk: Risk | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it will be sent."""

    id: str
    api: str
    waits: str
    checked: str
    body: str
    physical: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A policy's result that is not a plain pass."""

    standing: Standing
    result: PolicyResult
    waiver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
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
    standings: tuple[str, ...]
    open: bool
    brief: bool
    risks: tuple[Risk, ...]
    fields: tuple[Field, ...]
    rulings: tuple[Ruling, ...]
    passed: tuple[str, ...]
    requests: tuple[Request, ...]
    preconditions: tuple[str, ...]
    derived: str

    @property
    def badges(self) -> tuple[str, ...]:
        """The standings worth a badge."""
        return tuple(each for each in self.standings if each in tuple(Standing)[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A section's rows below its heading."""

    title: str
    level: RiskLevel
    open: bool
    rows: tuple[Row, ...]


def row_of(change: Change, anchor: str, *, today: date | None, brief: bool, opened: bool) -> Row:
    """The row of a change; where it is to be ``brief``, all is told only of what may hurt."""
    name = object_name(change.address)
    brief = brief and may_be_brief(change)
    return Row(
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
        standings=standings_of(change),
        open=opened,
        brief=brief,
        risks=tuple(risk for risk in change.risks if risk.level is not RiskLevel.SAFE),
        fields=tuple(_fields(change)),
        rulings=tuple(
            Ruling(
                standing=standing(result),
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
    """Whether nothing about the change needs a second look."""
    plain = all(result.outcome is Outcome.PASSED for result in change.policies)
    return change.level is RiskLevel.SAFE and plain and not never_folded(change)


def _fields(change: Change) -> Iterator[Field]:
    """What changes; of what comes or goes as a whole, what it will be or was."""
    if change.before is None or Action.DELETE in change.actions:
        yield from _whole(change)
    yield from map(_field, change.fields)


def _field(field: FieldChange) -> Field:
    sides = field_sides(field, full=True)
    moves = field_moves(field) if field.path == "assignments" else None
    return Field(
        mark=field_mark(field),
        label=field_label(field.path),
        before=sides.before,
        after=sides.after,
        note="; ".join(note for note in (moves, sides.note) if note) or None,
        risk=field.risk,
    )


def _whole(change: Change) -> Iterator[Field]:
    new = change.before is None
    for path, value in _settings((change.after if new else change.before) or {}):
        text = with_unit(path, value)
        yield Field(
            mark="+" if new else "-",
            label=field_label(path),
            before=None if new else text,
            after=text if new else None,
        )


def _settings(view: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for key in _PLAIN:
        if key in view:
            yield key, str(view[key])
    for group in ("configs", "quotas"):
        values = view.get(group)
        if isinstance(values, Mapping):
            yield from ((f"{group}.{key}", str(value)) for key, value in values.items())


def _request(planned: PlannedRequest) -> Request:
    waits = ", ".join(planned.depends_on[:_WAITS])
    more = len(planned.depends_on) - _WAITS
    body = json.dumps(request_to_json(planned.request), ensure_ascii=False)
    return Request(
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
        parts.append(f"managed by {item.owner}" if item.owner else "managed by nobody")
        yield ", ".join(parts)
        for path, value in item.fields.items():
            yield f"{path} is {'not set' if value is None else value}"


def hidden_in_brief(rows: int) -> str:
    """What a page with ``rows`` brief rows says about them."""
    return (
        f"This plan is large, so {counted(rows, 'change')} without risk or violation "
        "stand here without their requests and preconditions."
    )
