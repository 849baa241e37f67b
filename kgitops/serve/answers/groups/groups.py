"""FindCoordinator, ListGroups, DescribeGroups and DeleteGroups."""

from collections.abc import Sequence

from kgitops.cluster.embedded.client.groups.groups import Coordinator, CoordinatorType, GroupState
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.values import NOT_ASKED_FOR, message_of, operation_bits
from kgitops.serve.call import ApiCall
from kgitops.serve.groups.group import ClassicMember, Group
from kgitops.wire import messages
from kgitops.wire.messages import Message

CLASSIC, CONSUMER, SHARE = "classic", "consumer", "share"
_KEY_TYPES = {0: CoordinatorType.GROUP, 1: CoordinatorType.TRANSACTION}
_NO_PORT = -1
_BATCHES = 4
"""The first version of FindCoordinator that asks for several keys."""
_TELLS_UNKNOWN = 6
"""The first version of DescribeGroups with an error for groups that do not exist (KIP-1043)."""


def coordinated(
    call: ApiCall,
    key: str,
    operation: Operation,
    kind: CoordinatorType = CoordinatorType.GROUP,
) -> tuple[str, ErrorCode]:
    """The physical id of a group, or of a transactional id, and the error of who can't use it here.

    That is who may not, or has come to another broker.
    """
    found = call.admin.find_coordinator([key], kind, operation)[key]
    if not found.result.ok:
        return "", found.result.code
    if found.node_id != call.node.id:
        return "", ErrorCode.NOT_COORDINATOR
    return found.physical, ErrorCode.NONE


def finds_any(call: ApiCall, request: Message) -> bool:
    """Return whether the client may use one of the coordinators that it looks for."""
    kind = _KEY_TYPES.get(request.key_type)
    return kind is not None and any(
        call.admin.find_coordinator([key], kind)[key].result.ok for key in _keys(call, request)
    )


def find_coordinator(call: ApiCall, request: Message) -> Message:
    """The broker of each group or transactional id, with its address."""
    keys = _keys(call, request)
    kind = _KEY_TYPES.get(request.key_type)
    response = messages.FindCoordinatorResponse
    invalid = Coordinator(result=RequestResult(code=ErrorCode.INVALID_REQUEST))
    found = call.admin.find_coordinator(keys, kind) if kind else dict.fromkeys(keys, invalid)
    rows = [_coordinator(call, key, found[key]) for key in keys]
    if call.version >= _BATCHES:
        return response(coordinators=rows)
    row = rows[0]
    return response(
        error_code=row.error_code,
        error_message=row.error_message or ErrorCode(row.error_code).name,
        node_id=row.node_id,
        host=row.host,
        port=row.port,
    )


def list_groups(call: ApiCall, request: Message) -> Message:
    """The groups of this broker, those that the client may see."""
    groups = call.admin.list_groups()
    found = call.admin.find_coordinator(groups, operation=None)
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    response = messages.ListGroupsResponse
    rows = []
    for group in groups:
        if found[group].node_id != call.node.id:
            continue
        state, kind, protocol_type = _kind(call, found[group].physical)
        if (not states or state.lower() in states) and (not types or kind in types):
            rows.append(
                response.ListedGroup(
                    group_id=group,
                    protocol_type=protocol_type,
                    group_state=state,
                    group_type=kind,
                )
            )
    return response(groups=rows)


def describe_groups(call: ApiCall, request: Message) -> Message:
    """Each group's state and members, once; a group that does not exist is dead."""
    return messages.DescribeGroupsResponse(
        groups=[
            _described(call, group, operations=request.include_authorized_operations)
            for group in dict.fromkeys(request.groups)
        ]
    )


def delete_groups(call: ApiCall, request: Message) -> Message:
    """One result for each group: those with members stay."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    rows = []
    for group in dict.fromkeys(request.groups_names):
        physical, error = coordinated(call, group, Operation.DELETE)
        if error is ErrorCode.NONE:
            error = call.admin.delete_groups([group])[group].code
            call.cluster.groups.forget(physical)
        rows.append(row(group_id=group, error_code=error))
    return messages.DeleteGroupsResponse(results=rows)


def _keys(call: ApiCall, request: Message) -> Sequence[str]:
    keys: Sequence[str] = request.coordinator_keys
    return keys if call.version >= _BATCHES else [request.key]


def _coordinator(call: ApiCall, key: str, found: Coordinator) -> Message:
    row = messages.FindCoordinatorResponse.Coordinator
    node = call.cluster.nodes.get(found.node_id)
    if node is None:
        return row(
            key=key,
            node_id=found.node_id,
            port=_NO_PORT,
            error_code=found.result.code,
            error_message=message_of(found.result),
        )
    return row(key=key, node_id=node.id, host=node.endpoint.host, port=node.endpoint.port)


def _kind(call: ApiCall, physical: str) -> tuple[str, str, str]:
    """State, type and protocol type of a group."""
    consumers = call.cluster.groups.consumers.group(physical)
    if consumers is not None:
        return consumers.state, CONSUMER, CONSUMER
    shares = call.cluster.groups.shares.group(physical)
    if shares is not None:
        return shares.state, SHARE, SHARE
    held = call.cluster.groups.group(physical) or Group()
    return held.state, CLASSIC, held.protocol_type or ""


def _described(call: ApiCall, group: str, *, operations: bool) -> Message:
    row = messages.DescribeGroupsResponse.DescribedGroup
    physical, error = coordinated(call, group, Operation.DESCRIBE)
    if error is ErrorCode.NONE:
        error = call.admin.describe_groups([group])[group].result.code
    text = f"Group {group} not found."
    modern = call.cluster.groups.consumers.group(physical) or call.cluster.groups.shares.group(
        physical
    )
    if error is ErrorCode.NONE and modern:
        error = ErrorCode.GROUP_ID_NOT_FOUND
        text = f"Group {group} is not a classic group."
    if error is ErrorCode.GROUP_ID_NOT_FOUND:
        if call.version >= _TELLS_UNKNOWN:
            return row(
                group_id=group, error_code=error, error_message=text, group_state=GroupState.DEAD
            )
        allowed = _operations(call, group) if operations else NOT_ASKED_FOR
        return row(group_id=group, group_state=GroupState.DEAD, authorized_operations=allowed)
    if error is not ErrorCode.NONE:
        return row(group_id=group, error_code=error)
    held = call.cluster.groups.group(physical) or Group()
    return row(
        group_id=group,
        group_state=held.state,
        protocol_type=held.protocol_type or "",
        protocol_data=held.protocol or "" if held.state is GroupState.STABLE else "",
        members=_members(held),
        authorized_operations=_operations(call, group) if operations else NOT_ASKED_FOR,
    )


def _operations(call: ApiCall, group: str) -> int:
    allowed = call.admin.allowed_operations(ResourceType.GROUP, [group])[group]
    return operation_bits(allowed)


def _members(group: Group) -> Sequence[Message]:
    stable = group.state is GroupState.STABLE
    return [_member(group, member, stable=stable) for member in group.members.values()]


def _member(group: Group, member: ClassicMember, *, stable: bool) -> Message:
    """A member; what it is assigned, and by what, is told between rebalances alone."""
    return messages.DescribeGroupsResponse.DescribedGroupMember(
        member_id=member.id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol) if stable else b"",
        member_assignment=member.assignment if stable else b"",
    )
