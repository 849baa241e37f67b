"""CreateAcls and DeleteAcls, one binding or a filter that means exactly one."""

from collections.abc import Mapping, Sequence

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from kgitops.cluster.kafka.wire import Message, Wire
from kgitops.cluster.kafka.write_answers import NOT_ANSWERED, SEND_MS, answer
from kgitops.cluster.kafka.write_batches import cut
from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.requests import CreateAclRequest, DeleteAclRequest
from kgitops.model.results import RequestResult

# org.apache.kafka.common.resource and org.apache.kafka.common.acl: what stands on the wire.
RESOURCE_TYPES: Mapping[ResourceType, int] = {
    ResourceType.TOPIC: 2,
    ResourceType.GROUP: 3,
    ResourceType.CLUSTER: 4,
    ResourceType.TRANSACTIONAL_ID: 5,
    ResourceType.DELEGATION_TOKEN: 6,
    ResourceType.USER: 7,
}
PATTERN_TYPES: Mapping[PatternType, int] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
OPERATIONS: Mapping[Operation, int] = {
    Operation.ALL: 2,
    Operation.READ: 3,
    Operation.WRITE: 4,
    Operation.CREATE: 5,
    Operation.DELETE: 6,
    Operation.ALTER: 7,
    Operation.DESCRIBE: 8,
    Operation.CLUSTER_ACTION: 9,
    Operation.DESCRIBE_CONFIGS: 10,
    Operation.ALTER_CONFIGS: 11,
    Operation.IDEMPOTENT_WRITE: 12,
    Operation.CREATE_TOKENS: 13,
    Operation.DESCRIBE_TOKENS: 14,
    Operation.TWO_PHASE_COMMIT: 15,
}
PERMISSION_TYPES: Mapping[PermissionType, int] = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}

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
