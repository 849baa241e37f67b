"""The values shown of quotas, users, consumer groups, client metrics and broker configs."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kgitops.model.json.declared import credentials_of
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterUserScramCredentialsRequest,
    DeleteConsumerGroupRequest,
)
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.values import overlaid
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import RISK_LEVELS, Risk
from kgitops.plan.engine import NO_VALUES, Requested, Values, ValuesPlanner
from kgitops.plan.shown.values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    last_applied_before,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
    requests_of,
)
from kgitops.plan.users.credentials import (
    changed_fields,
    credentials_after,
    iterations_field,
    last_credentials,
)
from kgitops.plan.users.diff import UserPlanner
from kgitops.plan.values.groups import GroupPlanner
from kgitops.plan.values.planners import CONFIGS_PLANNERS
from kgitops.plan.values.quotas import QuotaPlanner
from kgitops.plan.values.resets import offset_field, offset_path


def shown_quota(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of an entity's quotas."""
    del around
    requested: dict[str, str | None] = {}
    for request in requests_of(change):
        if not isinstance(request, AlterClientQuotaRequest):
            raise ContradictionError("has a request for something else")
        for key, value in request.quotas.items():
            requested[key] = None if value is None else quota_text(value)
    return _shown_values(change, QuotaPlanner, requested)


def shown_configs(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of clients' metrics, or of the configs of brokers."""
    del around
    requested: dict[str, str | None] = {}
    for request in requests_of(change):
        if not isinstance(request, AlterConfigResourceRequest):
            raise ContradictionError("has a request for something else")
        requested |= request.configs
    return _shown_values(change, CONFIGS_PLANNERS[change.kind], requested)


def shown_user(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a user's credentials."""
    del around
    before = change.before["scram"] if change.before else {}
    held = {ScramMechanism(key): item["iterations"] for key, item in before.items()}
    last = last_credentials(last_applied_before(change))
    given_up = releases_ownership(change)
    declared = {} if given_up else credentials_of(owner_after(change).last_applied["scram"])
    fields: list[FieldChange] = []
    gone: list[ScramMechanism] = []
    for request in requests_of(change):
        if not isinstance(request, AlterUserScramCredentialsRequest):
            raise ContradictionError("has a request for something else")
        mechanism = request.mechanism
        if request.iterations is None or request.password is None:
            gone.append(mechanism)
            risk = risks.USER_DELETE if given_up else risks.MECHANISM_REMOVE
            fields.append(iterations_field(mechanism, held, None, risk))
        else:
            wanted = replace(
                declared[mechanism], iterations=request.iterations, password=request.password
            )
            fields += changed_fields(mechanism, wanted, held, last)
    after = {key.value: str(each) for key, each in credentials_after(held, declared, gone).items()}
    removal = risks.USER_DELETE if gone else risks.USER_FORGET
    return _shown(change, UserPlanner, after, fields, removal=removal)


def shown_group(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a group outside of virtual clusters.

    Its committed offsets are in the precondition, and so checked against the cluster.
    """
    del around
    requested: dict[str, str | None] = {}
    offsets: list[FieldChange] = []
    is_deleted = False
    for request in requests_of(change):
        match request:
            case AlterConfigResourceRequest(configs=configs):
                requested |= configs
            case AlterConsumerGroupOffsetsRequest(topics=topics):
                offsets += [
                    offset_field(
                        item.topic,
                        partition,
                        _committed(change, item.topic, partition),
                        offset,
                    )
                    for item in topics
                    for partition, offset in sorted(item.offsets.items())
                ]
            case DeleteConsumerGroupRequest():
                is_deleted = True
            case _:
                raise ContradictionError("has a request for something else")
    fields = (*_fields(change, GroupPlanner, requested), *offsets)
    removal = risks.GROUP_DELETE if is_deleted else risks.GROUP_CONFIG_REMOVE
    return _shown(
        change,
        GroupPlanner,
        overlaid(_held(change, GroupPlanner), requested),
        fields,
        removal=removal if change.requests else risks.GROUP_FORGET,
    )


def _committed(change: Change, topic: str, partition: int) -> int | None:
    path = offset_path(topic, partition)
    committed = [item.fields[path] for item in change.preconditions if path in item.fields]
    (text,) = committed
    return None if text is None else int(text)


_Kind = type[ValuesPlanner[Any]]


def _held(change: Change, kind: _Kind) -> Values:
    return kind.values(change.before) if change.before else NO_VALUES


def _shown_values(change: Change, kind: _Kind, requested: Requested) -> Shown:
    remaining = overlaid(_held(change, kind), requested)
    fields = _fields(change, kind, requested)
    lost = [field.risk for field in fields if field.risk is not None]
    worst = min((kind.removed, *lost), key=lambda risk: RISK_LEVELS.index(risk.level))
    removal = worst if requested else kind.forgotten
    return _shown(change, kind, remaining, fields, removal=removal)


def _fields(change: Change, kind: _Kind, requested: Requested) -> tuple[FieldChange, ...]:
    held = _held(change, kind)
    return tuple(
        FieldChange(
            path=kind.path(key),
            before=held.get(key),
            after=value,
            risk=kind.risk(key, held.get(key), value),
        )
        for key, value in requested.items()
    )


def _shown(
    change: Change, kind: _Kind, remaining: Values, fields: Sequence[FieldChange], *, removal: Risk
) -> Shown:
    """Derive all that is shown from the values that remain and the fields that change."""
    if releases_ownership(change):
        last, held = last_applied_before(change), _held(change, kind)
        is_gone = not (
            change.requests or basis_of(change).in_part or set(last[kind.field]) & set(held)
        )
        return removed(
            change,
            risk=removal,
            because=reason_of_removal(change, gone=is_gone),
            remaining=kind.view(last, remaining) if remaining else None,
            fields=tuple(fields),
        )
    after = kind.view(owner_after(change).last_applied, remaining)
    if change.before is None:
        return created(change, after=after, fields=tuple(fields), risky=kind.created)
    adoption = kind.adopted if is_adopted(change) else None
    return altered(change, after=after, fields=tuple(fields), adoption=adoption)
