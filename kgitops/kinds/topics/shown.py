"""The values that a plan shows of topics."""

from collections.abc import Mapping
from itertools import starmap

from kgitops.kinds.topics.configs import config_field, may_keep_more, new_config_hazards
from kgitops.model.registry import Json, Owner
from kgitops.model.requests import (
    AlterStep,
    AlterTopicRequest,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
)
from kgitops.model.resources.topic_configs import effective_default, normal_value
from kgitops.model.resources.topics import Assignment
from kgitops.model.values import overlaid
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import Risk
from kgitops.plan.normal_form import assignment_text, in_order, shape_view, topic_view
from kgitops.plan.shown_values import (
    UNFINISHED,
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
)
from kgitops.plan.usage import (
    WITHOUT_RECORDS,
    deletes_empty,
    disk_estimate,
    is_at_stake,
    topic_impact,
)

_MIN_ISR = "min.insync.replicas"
_REMOTE = "remote.storage.enable"
_IN_SYNC = ("replicationFactor", f"configs.{_MIN_ISR}")
_SIZING = ("cleanup.policy", _REMOTE, "retention.bytes", "retention.ms")
SHOWN_DEFAULTS = frozenset({_MIN_ISR, *_SIZING, "segment.bytes"})
"""The configs whose defaults every change of a topic may show, whatever it changes."""


def shown_topic(change: Change, around: Surroundings, more: tuple[FieldChange, ...] = ()) -> Shown:
    """Derive what is shown of a change of a topic; ``more`` fields of an existing one change."""
    if releases_ownership(change):
        return _removed(change)
    if change.before is None:
        return _created(change, around)
    return _altered(change, change.before, around, more)


def _created(change: Change, around: Surroundings) -> Shown:
    (request,) = requests_of(change)
    if not isinstance(request, CreateTopicRequest):
        raise ContradictionError("is not created by its request")
    state = request.requested_state
    view = topic_view(state)
    estimate = disk_estimate(None, view, around.defaults)
    return created(
        change,
        after=view,
        risky={
            risks.TOPIC_CREATE,
            *_unreachable_min_isr(state.replication_factor, state.configs, around),
            *_unclean_election(state.configs),
        },
        fields=new_config_hazards(state.configs, around.defaults),
        impact={"partitions": state.num_partitions, **estimate},
    )


def _altered(
    change: Change,
    before: Mapping[str, Json],
    around: Surroundings,
    more: tuple[FieldChange, ...],
) -> Shown:
    now = _assignment(before)
    wanted, configs = now, before["configs"]
    asked: dict[str, str | None] = {}
    restored: dict[str, str | None] = {}
    records: dict[int, int] = {}
    undone = {planned.undoes for planned in change.requests}
    for planned in change.requests:
        match planned.request:
            case AlterTopicRequest(step=AlterStep.CONFIGS, requested_state=state):
                if planned.undoes is not None:
                    restored |= state.requested_configs
                elif planned.id not in undone:
                    asked |= state.requested_configs
            case AlterTopicRequest(requested_state=state):
                wanted = state.assignment
            case DeleteRecordsRequest(deleted_message_offsets=offsets):
                records |= offsets
            case _:
                raise ContradictionError("has a request for something else")
    held = {key: normal_value(key, value) for key, value in configs.items()}
    configs_after = overlaid(configs, asked)
    fields = (
        *more,
        *(
            config_field(key, held.get(key), asked[key], configs_after, around.defaults)
            for key in sorted(asked)
        ),
        *_shape_fields(now, wanted),
        *starmap(_record_field, sorted(records.items())),
        *(
            FieldChange(
                path=f"configs.{key}",
                before=configs.get(key),
                after=restored[key],
                risk=risks.REPLICATION_THROTTLE,
                note=UNFINISHED,
            )
            for key in sorted(restored)
            if restored[key] != configs.get(key)
        ),
    )
    grows = len(wanted) > len(now) and may_keep_more(
        (now, configs), (wanted, configs_after), around.defaults
    )
    risky = {risks.DISK_GROWTH} if grows else set()
    if any(field.path in _IN_SYNC for field in fields):
        risky |= _unreachable_min_isr(len(wanted[0]), configs_after, around)
    view = {**before, "configs": in_order(configs_after)}
    owner = change.owner_before
    adopts = is_adopted(change) or owner is None or owner.topic_id != before["topic_id"]
    shown = altered(
        change,
        after=view if wanted == now else view | shape_view(wanted),
        fields=fields,
        adoption=risks.TOPIC_ADOPT if adopts else None,
        risky=risky,
    )
    if not fields:
        return shown
    return _with_impact(shown, change, records, around)


def _with_impact(
    shown: Shown, change: Change, records: Mapping[int, int], around: Surroundings
) -> Shown:
    basis, before = basis_of(change), change.before or {}
    impact = topic_impact(before["partitions"], basis.measured, records)
    if basis.affects:
        impact["affects"] = list(basis.affects)
    level = shown.risks[0].level
    if basis.measured is not None and is_at_stake(level, shown.fields):
        size = impact.get("bytes")
        impact |= disk_estimate(
            change.before, shown.after, around.defaults, None if size is None else int(size)
        )
    return Shown(
        actions=shown.actions,
        after=shown.after,
        fields=shown.fields,
        risks=shown.risks,
        because=shown.because,
        impact=impact,
    )


def _removed(change: Change) -> Shown:
    before, owner = change.before, change.owner_before
    deletes = any(isinstance(request, DeleteTopicRequest) for request in requests_of(change))
    if change.requests and not deletes:
        raise ContradictionError("has a request for something else")
    risk = _deletion_risk(change) if deletes else risks.TOPIC_FORGET
    because = reason_of_removal(change, gone=before is None)
    if before is not None and owner is not None and is_another_topic(before, owner):
        # Another client re-created the topic: the new one is unmanaged, so it stays.
        because += "; the topic of that name is a different one now"
    impact = {} if before is None else topic_impact(before["partitions"], basis_of(change).measured)
    return removed(change, risk=risk, deletes=deletes, because=because, impact=impact)


def is_another_topic(before: Mapping[str, Json], owner: Owner) -> bool:
    """Return whether the topic is not the one that was applied."""
    return before["topic_id"] is None or before["topic_id"] != owner.topic_id


def _deletion_risk(change: Change) -> Risk:
    """Return the lower risk only where the apply looks again before it deletes the topic."""
    expected = (*change.preconditions, *(planned.expects for planned in change.requests))
    looks_again = all(WITHOUT_RECORDS.items() <= item.fields.items() for item in expected)
    is_empty = bool(expected) and looks_again and deletes_empty(change)
    return risks.EMPTY_TOPIC_DELETE if is_empty else risks.TOPIC_DELETE


def _unreachable_min_isr(
    replication_factor: int, configs: Mapping[str, str], around: Surroundings
) -> set[Risk]:
    """Return the risk that losing one broker stops producers, if there is that risk."""
    value = configs.get(_MIN_ISR) or effective_default(_MIN_ISR, around.defaults)[0]
    needed = int(value or "1")
    full = needed > 1 and needed >= replication_factor
    return {risks.MIN_ISR_UNREACHABLE} if full else set()


def _unclean_election(configs: Mapping[str, str]) -> set[Risk]:
    """Return the risk that a new topic's records may be lost by its elections."""
    unclean = configs.get("unclean.leader.election.enable") == "true"
    return {risks.UNCLEAN_ELECTION} if unclean else set()


def _assignment(view: Mapping[str, Json]) -> Assignment:
    return tuple(tuple(replicas) for replicas in view["assignments"])


def _shape_fields(now: Assignment, wanted: Assignment) -> list[FieldChange]:
    fields = []
    if len(wanted) > len(now):
        fields.append(
            FieldChange(
                path="partitions",
                before=str(len(now)),
                after=str(len(wanted)),
                risk=risks.PARTITIONS_UP,
            )
        )
    if wanted[: len(now)] == now:
        return fields
    risk = _replica_risk(now, wanted)
    if len(wanted[0]) != len(now[0]):
        fields.append(
            FieldChange(
                path="replicationFactor",
                before=str(len(now[0])),
                after=str(len(wanted[0])),
                risk=risk,
            )
        )
    fields.append(
        FieldChange(
            path="assignments",
            before=assignment_text(now),
            after=assignment_text(wanted),
            risk=risk,
        )
    )
    return fields


def _replica_risk(before: Assignment, after: Assignment) -> Risk:
    if len(after[0]) < len(before[0]):
        return risks.REPLICATION_DOWN
    if len(after[0]) > len(before[0]):
        return risks.REPLICATION_UP
    moved = any(set(old) != set(new) for old, new in zip(before, after, strict=False))
    return risks.REPLICAS_MOVE if moved else risks.LEADER_ORDER


def _record_field(partition: int, offset: int) -> FieldChange:
    return FieldChange(
        path=f"deleteRecordsBefore.{partition}",
        before=None,
        after=str(offset),
        risk=risks.RECORDS_DELETE,
    )


def defaults_shown(change: Change) -> frozenset[str]:
    """Return the configs whose defaults a change of a topic shows, or its risks rest on."""
    requested = (
        request.requested_state.requested_configs
        for request in requests_of(change)
        if isinstance(request, AlterTopicRequest)
    )
    return SHOWN_DEFAULTS.union(*requested)
