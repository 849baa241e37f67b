"""The values shown of quotas, users, consumer groups and client metrics."""

from collections.abc import Container, Iterable, Mapping

from msgspec.structs import replace

from kgitops.model.json.declared import credentials_of
from kgitops.model.registry import Json
from kgitops.model.requests import (
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterUserScramCredentialsRequest,
    DeleteConsumerGroupRequest,
)
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity, quota_text
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.values import overlaid
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Change, FieldChange
from kgitops.plan.document.risks import Risk
from kgitops.plan.engine import Requested, Values
from kgitops.plan.groups.resets import offset_field, offset_path
from kgitops.plan.normal_form import client_metrics_view, group_view, quota_view, user_view
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


def shown_quota(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of an entity's quotas."""
    del around
    before = change.before
    current = {key: float(text) for key, text in before["quotas"].items()} if before else {}
    requested: dict[str, float | None] = {}
    for request in requests_of(change):
        if not isinstance(request, AlterClientQuotaRequest):
            raise ContradictionError("has a request for something else")
        requested |= request.quotas
    fields = tuple(
        FieldChange(
            path=f"quotas.{key}",
            before=_quota_text(current.get(key)),
            after=_quota_text(value),
            risk=_quota_risk(current.get(key), value),
        )
        for key, value in requested.items()
    )
    remaining = overlaid(current, requested)
    if releases_ownership(change):
        entity = _entity(last_applied_before(change))
        last = last_applied_before(change)["quotas"]
        return removed(
            change,
            risk=risks.QUOTA_REMOVE if requested else risks.QUOTA_FORGET,
            because=reason_of_removal(change, gone=_is_gone(change, last, current)),
            remaining=quota_view(entity, remaining) if remaining else None,
            fields=fields,
        )
    after = quota_view(_entity(owner_after(change).last_applied), remaining)
    if before is None:
        return created(change, after=after, fields=fields)
    adoption = risks.QUOTA_ADOPT if is_adopted(change) else None
    return altered(change, after=after, fields=fields, adoption=adoption)


def _entity(view: Mapping[str, Json]) -> ClientQuotaEntity:
    return make_entity(view["entity"])


def _quota_text(value: float | None) -> str | None:
    return None if value is None else quota_text(value)


def _quota_risk(before: float | None, after: float | None) -> Risk:
    if after is None:
        return risks.QUOTA_REMOVE
    if before is None:
        return risks.QUOTA_CREATE
    return risks.QUOTA_LOWER if after < before else risks.QUOTA_RAISE


def _is_gone(change: Change, last: Iterable[str], current: Container[str]) -> bool:
    """Return whether nothing is left of what was last applied."""
    if change.requests or basis_of(change).in_part:
        return False
    return not any(key in current for key in last)


def shown_user(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a user's credentials."""
    del around
    before = change.before
    held = (
        {ScramMechanism(key): item["iterations"] for key, item in before["scram"].items()}
        if before
        else {}
    )
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
    after = credentials_after(held, declared, gone)
    if given_up:
        name = last_applied_before(change)["name"]
        return removed(
            change,
            risk=risks.USER_DELETE if gone else risks.USER_FORGET,
            because=reason_of_removal(change, gone=_is_gone(change, last, held)),
            remaining=user_view(name, after) if after else None,
            fields=tuple(fields),
        )
    view = user_view(owner_after(change).last_applied["name"], after)
    if before is None:
        return created(change, after=view, fields=tuple(fields))
    adoption = risks.USER_ADOPT if is_adopted(change) else None
    return altered(change, after=view, fields=tuple(fields), adoption=adoption)


def shown_group(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a group outside of virtual clusters.

    Its committed offsets are in the precondition, and so checked against the cluster.
    """
    del around
    before = change.before
    current: Mapping[str, str] = before["configs"] if before else {}
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
    fields = (
        *_config_fields(
            requested, current, changed=risks.GROUP_CONFIG, removed=risks.GROUP_CONFIG_REMOVE
        ),
        *offsets,
    )
    remaining = overlaid(current, requested)
    if releases_ownership(change):
        last = last_applied_before(change)
        risk = risks.GROUP_DELETE if is_deleted else risks.GROUP_CONFIG_REMOVE
        return removed(
            change,
            risk=risk if change.requests else risks.GROUP_FORGET,
            because=reason_of_removal(change, gone=_is_gone(change, last["configs"], current)),
            remaining=group_view(last["name"], remaining) if remaining else None,
            fields=fields,
        )
    after = group_view(owner_after(change).last_applied["name"], remaining)
    if before is None:
        return created(change, after=after, fields=fields, risky=(risks.GROUP_CREATE,))
    adoption = risks.GROUP_ADOPT if is_adopted(change) else None
    return altered(change, after=after, fields=fields, adoption=adoption)


def _committed(change: Change, topic: str, partition: int) -> int | None:
    path = offset_path(topic, partition)
    committed = [item.fields[path] for item in change.preconditions if path in item.fields]
    (text,) = committed
    return None if text is None else int(text)


def shown_client_metrics(change: Change, around: Surroundings) -> Shown:
    """Derive what is shown of a change of a subscription to clients' metrics."""
    del around
    before = change.before
    current: Mapping[str, str] = before["configs"] if before else {}
    requested: dict[str, str | None] = {}
    for request in requests_of(change):
        if not isinstance(request, AlterConfigResourceRequest):
            raise ContradictionError("has a request for something else")
        requested |= request.configs
    fields = _config_fields(
        requested,
        current,
        changed=risks.CLIENT_METRICS_SET,
        removed=risks.CLIENT_METRICS_REMOVE,
    )
    remaining = overlaid(current, requested)
    if releases_ownership(change):
        last = last_applied_before(change)
        return removed(
            change,
            risk=risks.CLIENT_METRICS_REMOVE if requested else risks.CLIENT_METRICS_FORGET,
            because=reason_of_removal(change, gone=_is_gone(change, last["configs"], current)),
            remaining=client_metrics_view(last["name"], remaining) if remaining else None,
            fields=fields,
        )
    after = client_metrics_view(owner_after(change).last_applied["name"], remaining)
    if before is None:
        return created(change, after=after, fields=fields)
    adoption = risks.CLIENT_METRICS_ADOPT if is_adopted(change) else None
    return altered(change, after=after, fields=fields, adoption=adoption)


def _config_fields(
    requested: Requested, current: Values, *, changed: Risk, removed: Risk
) -> tuple[FieldChange, ...]:
    """Return the fields that change, with the risk of a value that is set or of one that goes."""
    return tuple(
        FieldChange(
            path=f"configs.{key}",
            before=current.get(key),
            after=value,
            risk=removed if value is None else changed,
        )
        for key, value in requested.items()
    )
