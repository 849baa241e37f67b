"""The lines below a change: its reason, its impact, its fields and its requests."""

import json
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from kgitops.manifests.value_origin import OriginKind, ValueOrigin
from kgitops.model.cluster_state import Validator
from kgitops.model.json.requests import request_to_json
from kgitops.model.registry import Json
from kgitops.model.requests import api_name
from kgitops.model.wording import counted, shortened, shortened_pair
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, FieldChange
from kgitops.plan.document.risks import Risk, RiskLevel
from kgitops.report.content.units import size, with_unit
from kgitops.report.content.virtual_clusters import derived, facts

# Reasons that the symbol already shows.
_PLAIN_REASONS = frozenset({"it is declared", "it differs from its document"})
# The planner's notes on a config that is set on the topic on one side only.
_EFFECTIVE = re.compile(r"(.*) (will apply|applied before) \((.*)\)", re.DOTALL)
_GROUP = re.compile(r"^(?:configs|quotas|throttles|scram|offsets)\.")
_WRITTEN = "lastApplied.deletionPolicyWritten"
_WRITTEN_LABEL = "deletionPolicy is declared"
_YES_NO = {"False": "no", "True": "yes"}
_MOVES_SHOWN = 3
REMOVAL = "deletionPolicy"
"""The path of the value that says what the removal of a document means."""
_MOST_WORDS = 400
CHECKED = {
    Validator.BROKER: "checked by the broker",
    Validator.CLIENT: "checked by kgitops",
    Validator.NOT_SUPPORTED: "can't be checked ahead",
}
"""The judge of a request before it is sent, in words."""


class Detail(Struct, frozen=True, kw_only=True):
    """One line: a symbol, what it is about, its value, and the risk, each shown in a column."""

    symbol: str = " "
    label: str = ""
    value: str = ""
    risk: Risk | None = None


def details(change: Change, *, full: bool) -> tuple[Detail, ...]:
    """Everything worth saying about one change.

    With ``full`` nothing is shortened, and safer ways and the requests are added.
    """
    return (
        *_because(change, full=full),
        *(Detail(value=text) for text in (stake(change),) if text),
        *_shape(change, full=full),
        *_origins(change, full=full),
        *_fields(change, full=full),
        *_further_risks(change),
        *((*_safer(change), *_requests(change)) if full else ()),
    )


def shared_details(change: Change) -> tuple[Detail, ...]:
    """The details without those that differ between otherwise equal changes."""
    return (
        *_because(change, full=False),
        *_shape(change, full=False),
        *_origins(change, full=False),
        *_fields(change, full=False),
        *_further_risks(change),
    )


def stake(change: Change) -> str:
    """Physical names, the topic id of what is deleted, and the blast radius where known."""
    topic_id = next((p.topic_id for p in change.preconditions if p.topic_id), None)
    deleted = [f"topic id {topic_id}"] if Action.DELETE in change.actions and topic_id else []
    impact = impact_text(change)
    if Action.CREATE in change.actions:
        impact = disk_text(change)
    held = [impact] if impact else []
    return ", ".join((*facts(change), *deleted, *held))


def labels_text(change: Change) -> str:
    """``team=payments, tier=1``: whose it is; long ones are shortened."""
    text = ", ".join(f"{key}={change.labels[key]}" for key in sorted(change.labels))
    return shortened(text)


def warning(change: Change) -> str:
    """The worst risk in words; empty where there is nothing to fear."""
    if change.risk is risks.TOPIC_DELETE and change.impact.get("records") == "0":
        return (
            "the topic had no records when it was planned; those that come until the apply are lost"
        )
    return "" if change.level is RiskLevel.SAFE else change.risk.text


def disk_text(change: Change) -> str:
    """``at most 10 GiB on disk`` of a new topic; empty if its retention sets no limit."""
    at_most = _whole(change.impact.get("bytes_at_most"))
    return "" if at_most is None else f"at most {size(at_most)} on disk"


def impact_text(change: Change) -> str:
    """``12 partitions, 48.2 GiB (51754355917 bytes), 18200345 records``; empty if unknown."""
    impact = dict(change.impact)
    parts = []
    if isinstance(partitions := impact.pop("partitions", None), int):
        parts.append(counted(partitions, "partition"))
    held = _whole(impact.pop("bytes", None))
    if held:
        raw = counted(held, "byte")
        parts.append(f"{size(held)} ({raw})" if held >= 2**10 else raw)
    expected, at_most = (
        _whole(impact.pop(key, None)) for key in ("bytes_expected", "bytes_at_most")
    )
    if expected is not None:
        parts.append(
            f"about {size(expected)} on disk once the new retention is reached, if it holds all of "
            "the old one now"
        )
    elif at_most is not None:
        parts.append(f"at most {size(at_most)} on disk")
    if (count := _whole(impact.pop("records", None))) is not None:
        parts.append(_some(count, "record"))
    elif held == 0:
        parts.append("no data")
    if (count := _whole(impact.pop("records_deleted", None))) is not None:
        parts.append(f"{_some(count, 'record')} of them deleted")
    groups = impact.pop("active_groups", None)
    if isinstance(groups, list):
        names = f": {', '.join(map(str, groups))}" if groups else ""
        parts.append(f"{_some(len(groups), 'active consumer group')}{names}")
    if isinstance(rights := impact.pop("rights_lost", None), list):
        lost = f"rights lost: {', '.join(map(str, rights))}"
        parts.append(lost if rights else "no right is lost by it")
    parts += [f"{key} {value}" for key, value in impact.items()]
    return ", ".join(parts)


class FieldSides(Struct, frozen=True, kw_only=True):
    """A field's two sides as people read them, None where it is not set; ``note`` on both."""

    before: str | None
    after: str | None
    note: str | None


def field_detail(field: FieldChange, *, full: bool, origin: ValueOrigin | None = None) -> Detail:
    """``retention.ms  604800000 (7 d) -> 86400000 (1 d) (profile short)``."""
    label = field_label(field.path)
    mark = field_mark(field)
    if field.path == "assignments" and not full and (moves := field_moves(field)):
        return Detail(symbol=mark, label=label, value=moves, risk=field.risk)
    sides = field_sides(field, full=full)
    value = f"{sides.before or '(not set)'} -> {sides.after or '(not set)'}"
    notes = [sides.note] if sides.note is not None else []
    notes += [origin_note(field.path, origin, full=full)] if origin is not None else []
    more = f" ({'; '.join(notes)})" if notes else ""
    return Detail(symbol=mark, label=label, value=f"{value}{more}", risk=field.risk)


def _fields(change: Change, *, full: bool) -> Iterable[Detail]:
    """Each field, with its risk where that is another than the one of the change's own line."""
    for field in change.fields:
        detail = field_detail(field, full=full, origin=change.origins.get(field.path))
        yield replace(detail, risk=None) if field.risk == change.risk else detail


def field_label(path: str) -> str:
    """A field's name below its object: ``retention.ms`` for ``configs.retention.ms``."""
    return _WRITTEN_LABEL if path == _WRITTEN else _GROUP.sub("", path)


def field_mark(field: FieldChange) -> str:
    """``+`` newly set, ``-`` no longer set, ``~`` changed."""
    return "+" if field.before is None else "-" if field.after is None else "~"


def field_sides(field: FieldChange, *, full: bool) -> FieldSides:
    """Both sides with their units, and with the value that applies where none is set."""
    before, after, note = _effective(field)
    if field.path == _WRITTEN:
        before, after = (side and _YES_NO.get(side, side) for side in (before, after))
    sides = (before or "", after or "") if full else shortened_pair(before or "", after or "")
    return FieldSides(
        before=None if before is None else _side(field.path, sides[0], before, note.get("before")),
        after=None if after is None else _side(field.path, sides[1], after, note.get("after")),
        note=note.get("other"),
    )


def field_moves(field: FieldChange) -> str | None:
    """``2 of 12 partitions move: …`` for assignments; None where they can't be compared."""
    before, after, _ = _effective(field)
    return _moves(before, after)


def _because(change: Change, *, full: bool) -> Iterable[Detail]:
    if full or change.because not in _PLAIN_REASONS:
        because = change.because if full else shortened(change.because, _MOST_WORDS)
        yield Detail(value=f"(because {because})")
    if origin := derived(change):
        yield Detail(value=f"({origin})")


def _shape(change: Change, *, full: bool) -> Iterable[Detail]:
    """The shape of a new object, whose fields are not changes."""
    if change.actions != (Action.CREATE,) or change.after is None or change.fields:
        return
    after = change.after
    parts = []
    if "partitions" in after:
        factor = after.get("replicationFactor")
        replicas = f" x {counted(factor, 'replica')}" if isinstance(factor, int) else ""
        parts.append(f"{counted(after['partitions'], 'partition')}{replicas}")
    for group in ("configs", "quotas"):
        values = after.get(group)
        if isinstance(values, Mapping):
            parts += [_setting(f"{group}.{key}", value, full=full) for key, value in values.items()]
    if parts:
        yield Detail(value=", ".join(parts))


def _origins(change: Change, *, full: bool) -> Iterable[Detail]:
    """``(from profile compacted: replicationFactor, cleanup.policy)`` of a new object.

    Of an adopted one only what no field shows: the meaning of its removal.
    """
    values: dict[str, list[str]] = {}
    new = Action.CREATE in change.actions
    if not new and Action.ADOPT not in change.actions:
        return
    for path, origin in change.origins.items():
        if origin.removed is not None:
            if not any(field.path == path for field in change.fields):
                yield Detail(value=f"({field_label(path)}: {origin_note(path, origin, full=full)})")
        elif path == REMOVAL:
            names = values.setdefault(origin_text(origin, full=full), [])
            names.append(f"{REMOVAL}={removal_policy(change)}")
        elif (
            new and not path.startswith("lastApplied.") and (full or not path.startswith("labels."))
        ):
            names = values.setdefault(origin_text(origin, full=full), [])
            # The line of a binding shows what its role decides.
            if full or origin.kind is not OriginKind.ROLE:
                names.append(field_label(path))
    for text, names in values.items():
        yield Detail(value=f"(from {text}: {', '.join(names)})" if names else f"(from {text})")


def removal_policy(change: Change) -> str:
    """The declared deletionPolicy of an object."""
    owner = change.owner_after
    return "" if owner is None else str(owner.last_applied.get(REMOVAL, ""))


def origin_note(path: str, origin: ValueOrigin, *, full: bool) -> str:
    """``profile compacted``, or ``null removes 604800000 (7 d) of profile compacted``.

    A null of another place names it: ``null of profile compacted removes …``.
    """
    text = origin_text(origin, full=full)
    if origin.removed is None:
        return text
    null = f"null of {origin.removed_by}" if origin.removed_by else "null"
    return f"{null} removes {with_unit(path, origin.removed)} of {text}"


def origin_text(origin: ValueOrigin, *, full: bool) -> str:
    """``profile compacted``; with its place if it is shown in full."""
    return f"{origin.text}, {origin.source.file}:{origin.source.line}" if full else origin.text


def _setting(path: str, value: Json, *, full: bool) -> str:
    text = str(value)
    short = text if full else shortened(text)
    return f"{path.partition('.')[2]}={with_unit(path, text) if short == text else short}"


def _further_risks(change: Change) -> Iterable[Detail]:
    """The risks that neither the change's own line nor a field's shows."""
    carried = {field.risk for field in change.fields}
    for risk in change.risks[1:]:
        if risk.level is not RiskLevel.SAFE and risk not in carried:
            yield Detail(value=risk.text, risk=risk)


def _safer(change: Change) -> Iterable[Detail]:
    for risk in change.risks:
        if risk.level is not RiskLevel.SAFE:
            yield Detail(value=f"safer than {risk.name}: {risk.safer}")


def _requests(change: Change) -> Iterable[Detail]:
    for planned in change.requests:
        after = f" after {', '.join(planned.depends_on)}" if planned.depends_on else ""
        yield Detail(
            value=f"request {planned.id}: {api_name(planned.request)}{after}, "
            f"{CHECKED[planned.validated]}"
        )
        body = request_to_json(planned.request)
        yield Detail(value=f"  {json.dumps(body, ensure_ascii=False)}")
        yield from (Detail(value=f"  on Kafka: {line}") for line in planned.physical)


def _effective(field: FieldChange) -> tuple[str | None, str | None, dict[str, str]]:
    """Both sides with the value that applies where the field itself sets none."""
    match = _EFFECTIVE.fullmatch(field.note or "")
    if match is None:
        return field.before, field.after, {"other": field.note} if field.note else {}
    value, when, source = match.groups()
    if when == "will apply" and field.after is None:
        return field.before, value, {"after": source}
    if when == "applied before" and field.before is None:
        return value, field.after, {"before": source}
    return field.before, field.after, {"other": field.note or ""}


def _side(path: str, shown: str, value: str, source: str | None) -> str:
    if shown != value:
        return f"{shown} ({source})" if source else shown
    return with_unit(path, value, source)


def _moves(before: str | None, after: str | None) -> str | None:
    """``2 of 12 partitions move: 0 [1,2,3] -> [1,2,4], …`` for two assignments."""
    try:
        old, new = json.loads(before or ""), json.loads(after or "")
        moved = [n for n, replicas in enumerate(old) if new[n] != replicas]
        shown = [f"{n} {_list(old[n])} -> {_list(new[n])}" for n in moved[:_MOVES_SHOWN]]
    except (ValueError, TypeError, IndexError, KeyError):
        return None
    more = f", and {len(moved) - len(shown)} more" if len(moved) > len(shown) else ""
    verb = "moves" if len(moved) == 1 else "move"
    return f"{len(moved)} of {counted(len(old), 'partition')} {verb}: {', '.join(shown)}{more}"


def _list(replicas: Json) -> str:
    return json.dumps(replicas, separators=(",", ":"))


def _some(count: int, noun: str) -> str:
    """``3 records``, ``no records``."""
    return counted(count, noun) if count else f"no {counted(0, noun).partition(' ')[2]}"


def _whole(value: Json) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
