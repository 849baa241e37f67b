"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the requests of a group's members."""

import uuid

from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.groups.consumers import group_topics
from kgitops.serve.answers.groups.groups import coordinated
from kgitops.serve.call import ApiCall
from kgitops.serve.groups.expiring import Leaving
from kgitops.serve.groups.group import JoinAnswer, SyncAnswer
from kgitops.serve.groups.joining import Joining
from kgitops.serve.groups.syncing import Syncing
from kgitops.wire import messages
from kgitops.wire.messages import Message

_KNOWN_IDS = 4
"""The first version of JoinGroup in which a new member is given its id first (KIP-394)."""
_NULL_PROTOCOL = 7
_SKIPS_ASSIGNMENT = 9
_TELLS_PROTOCOL = 5
"""The first version of SyncGroup that must tell protocol and protocol type (KIP-559)."""
_SEVERAL_LEAVE = 3


async def join_group(call: ApiCall, request: Message) -> Message:
    """Waits until all members have joined, or had the time to."""
    physical, error = _member_of(call, request.group_id)
    settings = call.cluster.groups.settings
    shortest, longest = settings.min_session_timeout_ms, settings.max_session_timeout_ms
    if error in {ErrorCode.NONE, ErrorCode.NOT_COORDINATOR} and not (
        shortest <= request.session_timeout_ms <= longest
    ):
        error = ErrorCode.INVALID_SESSION_TIMEOUT
    if error is ErrorCode.NONE:
        answer = await call.cluster.groups.join(
            physical,
            _joining(call, request),
            lambda names: group_topics(call, names),
            lambda: call.decide(lambda: call.admin.create_group(request.group_id).code),
        )
    else:
        answer = JoinAnswer(error=error, member_id=request.member_id)
    row = messages.JoinGroupResponse.JoinGroupResponseMember
    no_protocol = None if call.version >= _NULL_PROTOCOL else ""
    return messages.JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=no_protocol if answer.protocol is None else answer.protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            row(member_id=member.id, group_instance_id=member.instance_id, metadata=member.metadata)
            for member in answer.members
        ],
    )


async def sync_group(call: ApiCall, request: Message) -> Message:
    """Waits until the leader has brought the assignment."""
    untold = request.protocol_type is None or request.protocol_name is None
    physical, error = _member_of(call, request.group_id)
    if call.version >= _TELLS_PROTOCOL and untold:
        error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    answer = SyncAnswer(error=error)
    if error is ErrorCode.NONE:
        syncing = Syncing(
            ticket=call.cluster.groups.new_ticket(),
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            generation=request.generation_id,
            protocol_type=request.protocol_type,
            protocol=request.protocol_name,
            assignments={row.member_id: row.assignment for row in request.assignments},
        )
        answer = await call.cluster.groups.sync(physical, syncing)
    return messages.SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        assignment=answer.assignment,
    )


async def heartbeat(call: ApiCall, request: Message) -> Message:
    """A member is alive; the error tells it of a rebalance."""
    physical, error = _member_of(call, request.group_id)
    if error is ErrorCode.NONE:
        error = call.cluster.groups.heartbeat(
            physical, request.member_id, request.group_instance_id, request.generation_id
        )
    return messages.HeartbeatResponse(error_code=error)


async def leave_group(call: ApiCall, request: Message) -> Message:
    """One member leaves, or from version 3 on several."""
    physical, error = _member_of(call, request.group_id)
    if error is not ErrorCode.NONE:
        return messages.LeaveGroupResponse(error_code=error)
    if call.version < _SEVERAL_LEAVE:
        leaving = [Leaving(member_id=request.member_id)]
        return messages.LeaveGroupResponse(
            error_code=call.cluster.groups.leave(physical, leaving)[0]
        )
    leaving = [
        Leaving(member_id=row.member_id, instance_id=row.group_instance_id)
        for row in request.members
    ]
    errors = call.cluster.groups.leave(physical, leaving)
    row = messages.LeaveGroupResponse.MemberResponse
    return messages.LeaveGroupResponse(
        members=[
            row(member_id=item.member_id, group_instance_id=item.instance_id, error_code=error)
            for item, error in zip(leaving, errors, strict=True)
        ]
    )


def _member_of(call: ApiCall, group: str) -> tuple[str, ErrorCode]:
    """The group's physical id, and the error of who can't be a member of it here."""
    physical, error = coordinated(call, group, Operation.READ)
    if not group and error is not ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return "", ErrorCode.INVALID_GROUP_ID
    return physical, error


def _joining(call: ApiCall, request: Message) -> Joining:
    client_id = call.client_id or ""
    prefix = request.group_instance_id or client_id
    rebalance_ms = request.rebalance_timeout_ms
    return Joining(
        ticket=call.cluster.groups.new_ticket(),
        new_member_id=f"{prefix}-{uuid.uuid4()}",
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=client_id,
        client_host=f"/{call.host}",
        protocol_type=request.protocol_type,
        protocols=tuple((row.name, row.metadata) for row in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        # Version 0 has none of its own.
        rebalance_timeout_ms=request.session_timeout_ms if call.version == 0 else rebalance_ms,
        must_know_its_id=call.version >= _KNOWN_IDS,
        may_skip_assignment=call.version >= _SKIPS_ASSIGNMENT,
    )
