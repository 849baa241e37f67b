"""IncrementalAlterConfigs of groups and of client metrics."""

from collections.abc import Sequence

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.answers import SEND_MS, answer
from kgitops.cluster.kafka.protocol_values import CONFIG_RESOURCES, alteration
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.write.batches import split_batches
from kgitops.model.requests import AlterConfigResourceRequest
from kgitops.model.results import RequestResult

_Key = tuple[int, str]


def alter_config_resources(
    wire: Wire, requests: Sequence[AlterConfigResourceRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Set and remove the given configs, all of a resource's or none (A4-75).

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=_records, key=_key):
        resources = [alteration(*_key(request), request.configs) for request in batch]
        response = wire.send(
            IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only),
            timeout_ms=SEND_MS,
            may_repeat=validate_only,
        )
        rows = {(row.resource_type, row.resource_name): row for row in response.responses}
        results += [answer(rows.get(_key(request)), response) for request in batch]
    return results


def _key(request: AlterConfigResourceRequest) -> _Key:
    return CONFIG_RESOURCES[request.resource_type], request.resource_name


def _records(request: AlterConfigResourceRequest) -> int:
    return len(request.configs)
