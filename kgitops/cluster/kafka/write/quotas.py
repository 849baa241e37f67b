"""AlterClientQuotas: setting and removing quotas of entities."""

from collections.abc import Sequence

from kafka.protocol.admin import AlterClientQuotasRequest

from kgitops.cluster.kafka.answers import SEND_MS, answer
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import split_batches
from kgitops.model.requests import AlterClientQuotaRequest
from kgitops.model.results import RequestResult

_NOTHING = 0.0


def alter_quotas(
    wire: Wire, requests: Sequence[AlterClientQuotaRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Set and remove keys of entities; all of an entity's or none (F590-52)."""
    results: list[RequestResult] = []
    for batch in split_batches(
        requests, weight=lambda request: len(request.quotas), key=lambda request: request.entity
    ):
        response = wire.send(
            AlterClientQuotasRequest(
                entries=[_entry(request) for request in batch], validate_only=validate_only
            ),
            timeout_ms=SEND_MS,
            may_repeat=validate_only,
        )
        rows = {
            frozenset((part.entity_type, part.entity_name) for part in row.entity): row
            for row in response.entries
        }
        results += [answer(rows.get(frozenset(request.entity)), response) for request in batch]
    return results


def _entry(request: AlterClientQuotaRequest) -> Message:
    entry = AlterClientQuotasRequest.EntryData
    return entry(
        entity=[
            entry.EntityData(entity_type=kind, entity_name=name) for kind, name in request.entity
        ],
        ops=[
            entry.OpData(key=key, value=_NOTHING if value is None else value, remove=value is None)
            for key, value in request.quotas.items()
        ],
    )
