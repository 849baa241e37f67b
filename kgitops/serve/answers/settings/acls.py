"""DescribeAcls, CreateAcls and DeleteAcls: Kafka's numbers for the embedded cluster's words."""

from collections.abc import Mapping
from itertools import groupby
from typing import TypeVar

from kgitops.cluster.embedded.controls.acl_filter import AclFilter, PatternFilter
from kgitops.cluster.embedded.controls.acls import IllegalAcl, MatchedAcls
from kgitops.model.resources.acls import AclBinding, Operation, PatternType, ResourceType
from kgitops.model.resources.protocol_codes import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
)
from kgitops.serve.answers.values import message_of
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.errors import MalformedError
from kgitops.wire.messages import Message

T = TypeVar("T")

_UNKNOWN, _ANY = 0, 1
_ALL_OPERATION_CODES: Mapping[Operation, int] = {
    **OPERATIONS,
    # KIP-1134 has no numbers for these; ours are private, and experimental as the proposal is.
    Operation.CREATE_VIRTUAL_CLUSTER: 100,
    Operation.ALTER_VIRTUAL_CLUSTER: 101,
    Operation.DELETE_VIRTUAL_CLUSTER: 102,
    Operation.DESCRIBE_VIRTUAL_CLUSTER: 103,
    Operation.LIST_VIRTUAL_CLUSTERS: 104,
}
_KINDS = {code: kind for kind, code in RESOURCE_TYPES.items()}
_PATTERNS = {code: pattern for pattern, code in PATTERN_TYPES.items()}
_PATTERN_FILTERS = {
    1: PatternFilter.ANY,
    2: PatternFilter.MATCH,
    3: PatternFilter.LITERAL,
    4: PatternFilter.PREFIXED,
}
_PERMISSIONS = {code: permission for permission, code in PERMISSION_TYPES.items()}
_OPERATIONS = {code: operation for operation, code in _ALL_OPERATION_CODES.items()}


def describe_acls(call: ApiCall, request: Message) -> Message:
    """The bindings that one filter matches, by resource."""
    matched = call.admin.describe_acls(_filter(request))
    response = messages.DescribeAclsResponse
    return response(
        error_code=matched.result.code,
        error_message=message_of(matched.result) or "",
        resources=[
            response.DescribeAclsResource(
                resource_type=RESOURCE_TYPES[kind],
                resource_name=name,
                pattern_type=PATTERN_TYPES[pattern],
                acls=[
                    response.AclDescription(
                        principal=binding.principal,
                        host=binding.host,
                        operation=_ALL_OPERATION_CODES[binding.operation],
                        permission_type=PERMISSION_TYPES[binding.permission_type],
                    )
                    for binding in bindings
                ],
            )
            for (kind, name, pattern), bindings in groupby(matched.bindings, _resource)
        ],
    )


def create_acls(call: ApiCall, request: Message) -> Message:
    """One result for each binding, in order."""
    results = call.admin.create_acls([_binding(row) for row in request.creations])
    row = messages.CreateAclsResponse.AclCreationResult
    return messages.CreateAclsResponse(
        results=[
            row(error_code=result.code, error_message=message_of(result) or "")
            for result in results
        ]
    )


def delete_acls(call: ApiCall, request: Message) -> Message:
    """One outcome for each filter, in order, with the bindings that it deleted."""
    matched = call.admin.delete_acls([_filter(row) for row in request.filters])
    return messages.DeleteAclsResponse(filter_results=list(map(_deleted, matched)))


def _deleted(matched: MatchedAcls) -> Message:
    response = messages.DeleteAclsResponse
    return response.DeleteAclsFilterResult(
        error_code=matched.result.code,
        error_message=message_of(matched.result),
        matching_acls=[
            response.DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=RESOURCE_TYPES[binding.resource_type],
                resource_name=binding.resource_name,
                pattern_type=PATTERN_TYPES[binding.pattern_type],
                principal=binding.principal,
                host=binding.host,
                operation=_ALL_OPERATION_CODES[binding.operation],
                permission_type=PERMISSION_TYPES[binding.permission_type],
            )
            for binding in matched.bindings
        ],
    )


def _resource(binding: AclBinding) -> tuple[ResourceType, str, PatternType]:
    return binding.resource_type, binding.resource_name, binding.pattern_type


def _binding(row: Message) -> AclBinding | IllegalAcl:
    """The binding that is to be made, or the reason that AclControlManager gives against it.

    Raises:
        MalformedError: a number is 0, which no client may send.
    """
    _check_known(row.resource_type, row.resource_pattern_type, row.operation, row.permission_type)
    kind = _KINDS.get(row.resource_type)
    pattern = _PATTERNS.get(row.resource_pattern_type)
    operation = _OPERATIONS.get(row.operation)
    permission = _PERMISSIONS.get(row.permission_type)
    if not row.resource_name:
        return IllegalAcl("Invalid empty resource name")
    if kind is None:
        return IllegalAcl(f"Invalid resourceType {_word(row.resource_type)}")
    if pattern is None:
        match = _PATTERN_FILTERS.get(row.resource_pattern_type)
        return IllegalAcl(f"Invalid patternType {match.upper() if match else 'UNKNOWN'}")
    if operation is None:
        return IllegalAcl(f"Invalid operation {_word(row.operation)}")
    if permission is None:
        return IllegalAcl(f"Invalid permissionType {_word(row.permission_type)}")
    return AclBinding(
        resource_type=kind,
        resource_name=row.resource_name,
        pattern_type=pattern,
        principal=row.principal,
        host=row.host,
        operation=operation,
        permission_type=permission,
    )


def _filter(row: Message) -> AclFilter | IllegalAcl:
    """The filter; a number that nothing is known by matches nothing.

    Raises:
        MalformedError: a number is 0, which no client may send.
    """
    numbers = row.resource_type_filter, row.pattern_type_filter, row.operation, row.permission_type
    _check_known(*numbers)
    pattern = _PATTERN_FILTERS.get(row.pattern_type_filter)
    if pattern is None or not _is_known(row.resource_type_filter, _KINDS):
        return IllegalAcl("Unknown patternFilter.")
    if not _is_known(row.operation, _OPERATIONS) or not _is_known(
        row.permission_type, _PERMISSIONS
    ):
        return IllegalAcl("Unknown entryFilter.")
    return AclFilter(
        resource_type=_KINDS.get(row.resource_type_filter),
        resource_name=row.resource_name_filter,
        pattern=pattern,
        principal=row.principal_filter,
        host=row.host_filter,
        operation=_OPERATIONS.get(row.operation),
        permission_type=_PERMISSIONS.get(row.permission_type),
    )


def _check_known(*numbers: int) -> None:
    if _UNKNOWN in numbers:
        raise MalformedError("an ACL has the number 0, which stands for a value unknown")


def _is_known(number: int, known: Mapping[int, T]) -> bool:
    return number == _ANY or number in known


def _word(number: int) -> str:
    return "ANY" if number == _ANY else "UNKNOWN"
