"""CreateAcls and DeleteAcls, one binding or a filter that means exactly one."""

from collections.abc import Sequence

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from kgitops.cluster.kafka.answers import NOT_ANSWERED, SEND_MS, answer
from kgitops.cluster.kafka.protocol_values import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import cut
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import (
    AclBinding,
)
from kgitops.model.results import RequestResult

_WITH_USERS = 3


def create_acls(wire: Wire, requests: Sequence[CreateAclRequest]) -> list[RequestResult]:
    """Create bindings; one that exists already is a success (A4-95)."""
    results: list[RequestResult] = []
    for batch in cut(requests, weight=lambda _: 1, key=lambda request: request.binding):
        response = wire.send(
            CreateAclsRequest(
                creations=[_creation(request.binding) for request in batch], min_version=_WITH_USERS
            ),
            timeout_ms=SEND_MS,
        )
        results += _in_order(batch, response.results, response)
    return results


def delete_acls(wire: Wire, requests: Sequence[DeleteAclRequest]) -> list[RequestResult]:
    """Delete bindings; that one is not there is no error (A4-94)."""
    results: list[RequestResult] = []
    for batch in cut(requests, weight=lambda _: 1, key=lambda request: request.binding):
        response = wire.send(
            DeleteAclsRequest(
                filters=[_filter(request.binding) for request in batch], min_version=_WITH_USERS
            ),
            timeout_ms=SEND_MS,
        )
        rows = [_first_failure(row) for row in response.filter_results]
        results += _in_order(batch, rows, response)
    return results


def _in_order(
    batch: Sequence[object], rows: Sequence[Message], response: Message
) -> list[RequestResult]:
    """Rows bear no names: they stand in the order of the request, all of them or none counts."""
    if len(rows) != len(batch):
        return [NOT_ANSWERED for _ in batch]
    return [answer(row, response) for row in rows]


def _first_failure(row: Message) -> Message:
    """A filter's own answer, or that of a binding it matched and that could not be deleted."""
    failures = (match for match in row.matching_acls if match.error_code)
    return row if row.error_code else next(failures, row)


def _creation(binding: AclBinding) -> Message:
    return CreateAclsRequest.AclCreation(
        resource_type=RESOURCE_TYPES[binding.resource_type],
        resource_name=binding.resource_name,
        resource_pattern_type=PATTERN_TYPES[binding.pattern_type],
        principal=binding.principal,
        host=binding.host,
        operation=OPERATIONS[binding.operation],
        permission_type=PERMISSION_TYPES[binding.permission_type],
    )


def _filter(binding: AclBinding) -> Message:
    return DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=RESOURCE_TYPES[binding.resource_type],
        resource_name_filter=binding.resource_name,
        pattern_type_filter=PATTERN_TYPES[binding.pattern_type],
        principal_filter=binding.principal,
        host_filter=binding.host,
        operation=OPERATIONS[binding.operation],
        permission_type=PERMISSION_TYPES[binding.permission_type],
    )
