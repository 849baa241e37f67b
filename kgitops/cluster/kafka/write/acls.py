"""CreateAcls and DeleteAcls: bindings, and filters that match exactly one."""

from collections.abc import Sequence

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from kgitops.cluster.kafka.answers import NOT_ANSWERED, SEND_MS, answer
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.cluster.kafka.write.batches import split_batches
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.protocol_codes import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)
from kgitops.model.results import RequestResult

_WITH_USERS = 3


def create_acls(wire: Wire, requests: Sequence[CreateAclRequest]) -> list[RequestResult]:
    """Create bindings; one that exists already is a success (A4-95)."""
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=lambda _: 1, key=lambda request: request.binding):
        response = wire.send(
            CreateAclsRequest(
                creations=[_creation(request.binding) for request in batch], min_version=_WITH_USERS
            ),
            timeout_ms=SEND_MS,
        )
        results += _in_order(batch, response.results, response)
    return results


def delete_acls(wire: Wire, requests: Sequence[DeleteAclRequest]) -> list[RequestResult]:
    """Delete bindings; one that does not exist is not an error (A4-94)."""
    results: list[RequestResult] = []
    for batch in split_batches(requests, weight=lambda _: 1, key=lambda request: request.binding):
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
    """Match rows to requests by their order: rows have no names, so either all count or none."""
    if len(rows) != len(batch):
        return [NOT_ANSWERED for _ in batch]
    return [answer(row, response) for row in rows]


def _first_failure(row: Message) -> Message:
    """Return the filter's own result, or that of a matching binding that was not deleted."""
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
