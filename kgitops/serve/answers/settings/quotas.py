"""DescribeClientQuotas and AlterClientQuotas."""

from collections.abc import Mapping

from kgitops.cluster.embedded.controls.quotas import (
    EntityMatch,
    EntityParts,
    QuotaAlteration,
    QuotaFilter,
    canonical,
)
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER, ClientQuotaEntity
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.values import message_of
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

# org.apache.kafka.common.requests.DescribeClientQuotasRequest
_MATCHES = {0: EntityMatch.EXACT, 1: EntityMatch.DEFAULT, 2: EntityMatch.ANY}


def describe_client_quotas(call: ApiCall, request: Message) -> Message:
    """The quotas of the entities that match; no entries where the filter is refused."""
    response = messages.DescribeClientQuotasResponse
    try:
        described = _described(call, request)
    except Refusal as refusal:
        return response(
            error_code=refusal.result.code,
            error_message=message_of(refusal.result),
            entries=None,
        )
    if not any(row.entity_type == VIRTUAL_CLUSTER for row in request.components):
        described = _by_local_names(call, described)
    return response(
        entries=[
            response.EntryData(
                entity=[
                    response.EntityData(entity_type=kind, entity_name=name) for kind, name in entity
                ],
                values=[response.ValueData(key=key, value=rate) for key, rate in quotas.items()],
            )
            for entity, quotas in described.items()
        ]
    )


def alter_client_quotas(call: ApiCall, request: Message) -> Message:
    """One result for each entity, as the request names it."""
    alterations = [
        QuotaAlteration(
            entity=_parts(entry),
            operations=[(row.key, None if row.remove else row.value) for row in entry.ops],
        )
        for entry in request.entries
    ]
    results = call.admin.alter_client_quotas(alterations, validate_only=request.validate_only)
    response = messages.AlterClientQuotasResponse
    named = {canonical(alteration.entity): alteration.entity for alteration in alterations}
    return response(
        entries=[
            response.EntryData(
                error_code=results[entity].code,
                error_message=message_of(results[entity]),
                entity=[
                    response.EntityData(entity_type=kind, entity_name=name) for kind, name in parts
                ],
            )
            for entity, parts in named.items()
        ]
    )


def _parts(entry: Message) -> EntityParts:
    """The entity; of a type that is there twice, Kafka takes the last."""
    return tuple({part.entity_type: part.entity_name for part in entry.entity}.items())


def _described(call: ApiCall, request: Message) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
    problem = next(filter(None, map(_problem, request.components)), None)
    if problem:
        # The right is asked for first.
        call.admin.describe_client_quotas(strict=True)
        raise Refusal(ErrorCode.INVALID_REQUEST, problem)
    components = [
        QuotaFilter(entity_type=row.entity_type, match=_MATCHES[row.match_type], name=row.match)
        for row in request.components
    ]
    return call.admin.describe_client_quotas(components, strict=request.strict)


def _problem(row: Message) -> str | None:
    """The reason why a component is not one, as ClientQuotasImage gives it."""
    match = _MATCHES.get(row.match_type)
    if match is None:
        return f"Unknown match type {row.match_type}"
    if match is EntityMatch.EXACT:
        if row.match is None:
            return "Request specified MATCH_TYPE_EXACT, but set match string to null."
    elif row.match is not None:
        name = "DEFAULT" if match is EntityMatch.DEFAULT else "SPECIFIED"
        return f"Request specified MATCH_TYPE_{name}, but also specified a match string."
    return None


def _by_local_names(
    call: ApiCall, described: Mapping[ClientQuotaEntity, Mapping[str, float]]
) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
    """For a bound caller, without its virtual cluster, which it need not know of.

    That leaves nothing of the virtual cluster's cap, which is therefore shown as it is.
    """
    own = (VIRTUAL_CLUSTER, call.virtual_cluster)
    return {
        tuple(part for part in entity if part != own) or entity: quotas
        for entity, quotas in described.items()
    }
