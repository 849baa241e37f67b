"""IncrementalAlterConfigs of groups, of client metrics and of brokers."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kgitops.cluster.kafka.answers import SEND_MS, answer, ask_each_broker
from kgitops.cluster.kafka.protocol_values import BROKER, CONFIG_RESOURCES, alteration
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.kafka.write.batches import split_batches
from kgitops.model.errors import UnreachableError
from kgitops.model.requests import AlterConfigResourceRequest
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.results import ErrorCode, RequestResult

_LEAST_MS = 1_000
_Key = tuple[int, str]
BrokerConfigs = tuple[int, Mapping[str, str | None]]
"""A broker's id, and the configs to set and remove."""


def alter_config_resources(
    wire: Wire, requests: Sequence[AlterConfigResourceRequest], *, validate_only: bool
) -> list[RequestResult]:
    """Set and remove the given configs, all of a resource's or none (A4-75).

    Raises:
        UnreachableError: no answer; what happened is unknown and must be looked up.
    """
    own = [(int(it.resource_name), it.configs) for it in requests if _is_of_one_broker(it)]
    of_brokers = iter(alter_brokers(wire, own, validate_only=validate_only) if own else ())
    rest = [it for it in requests if not _is_of_one_broker(it)]
    others = iter(_alter(wire, rest, validate_only=validate_only))
    return [next(of_brokers if _is_of_one_broker(it) else others) for it in requests]


def _alter(
    wire: Wire, requests: Sequence[AlterConfigResourceRequest], *, validate_only: bool
) -> list[RequestResult]:
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


def alter_brokers(
    wire: Wire, asked: Sequence[BrokerConfigs], *, validate_only: bool
) -> list[RequestResult]:
    """Set and remove configs of brokers; a broker accepts such a change only for itself.

    A broker that can't be reached does not affect the others; its own outcome is unknown. Together
    they have as much time as any other change.
    """
    deadline = time.monotonic() + SEND_MS / 1000
    by_broker: defaultdict[int, list[BrokerConfigs]] = defaultdict(list)
    for broker, configs in asked:
        by_broker[broker].append((broker, configs))

    def alter(broker: int) -> Iterator[RequestResult]:
        return iter(
            [
                _alter_broker(wire, item, deadline, validate_only=validate_only)
                for item in by_broker[broker]
            ]
        )

    brokers = sorted(by_broker)
    results = dict(zip(brokers, ask_each_broker(wire, brokers, alter), strict=True))
    return [next(results[broker]) for broker, _ in asked]


def _alter_broker(
    wire: Wire, asked: BrokerConfigs, deadline: float, *, validate_only: bool
) -> RequestResult:
    broker, configs = asked
    item = alteration(BROKER, str(broker), configs)
    try:
        response = wire.send(
            IncrementalAlterConfigsRequest(resources=[item], validate_only=validate_only),
            to=broker,
            timeout_ms=max(_LEAST_MS, int((deadline - time.monotonic()) * 1000)),
            may_repeat=validate_only,
        )
    except UnreachableError as error:
        return RequestResult(code=ErrorCode.NETWORK_EXCEPTION, message=str(error))
    return answer(next(iter(response.responses), None), response)


def _key(request: AlterConfigResourceRequest) -> _Key:
    name = request.resource_name
    return CONFIG_RESOURCES[request.resource_type], "" if _is_of_all_brokers(request) else name


def _is_of_one_broker(request: AlterConfigResourceRequest) -> bool:
    return request.resource_type is ConfigResourceType.BROKER and not _is_of_all_brokers(request)


def _is_of_all_brokers(request: AlterConfigResourceRequest) -> bool:
    of_brokers = request.resource_type is ConfigResourceType.BROKER
    return of_brokers and request.resource_name == ALL_BROKERS


def _records(request: AlterConfigResourceRequest) -> int:
    return len(request.configs)
