"""JoinGroup: new members, members that join again, and static ones that come back."""

from msgspec import Struct
from msgspec.structs import replace

from kgitops.cluster.embedded.client.groups.groups import GroupState
from kgitops.model.results import ErrorCode
from kgitops.serve.groups.embedded_protocol import CONSUMER, read_subscription
from kgitops.serve.groups.group import (
    NO_MEMBER,
    ClassicMember,
    Group,
    JoinAnswer,
    Protocols,
    answered,
    join_answered,
    kept_alive,
    member_error,
    static_member,
    with_member,
)
from kgitops.serve.groups.rebalancing import (
    completed_if_joined,
    current_generation,
    prepared,
    rebalanced,
    with_successor,
    without_members,
)
from kgitops.serve.groups.settings import GroupSettings
from kgitops.wire.errors import MalformedError

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""A new member whose first JoinGroup waits for so long may be gone: its connection is not looked at
meanwhile."""

MOST_PENDING = 5_000
"""The ids that are given out and not joined with: each costs no more than a request."""


class Joining(Struct, frozen=True, kw_only=True):
    """A JoinGroup request, the ticket of its answer, and an id for a new member."""

    ticket: int
    new_member_id: str
    member_id: str = NO_MEMBER
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    protocol_type: str = "consumer"
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    must_know_its_id: bool = False
    """A new member is given its id first, and joins with it (from version 4 on, KIP-394)."""
    may_skip_assignment: bool = False
    """A leader that comes back may be told not to assign again (from version 9 on, KIP-814)."""


def join(group: Group, request: Joining, now_ms: int, settings: GroupSettings) -> Group:
    """The group after a JoinGroup: its answer may have to wait for other members."""
    if not _has_room(group, request.member_id, settings):
        group = without_members(group, [request.member_id])
        return _refuse(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED)
    if not group.supports(request.protocol_type, request.protocols):
        return _refuse(group, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if request.member_id != NO_MEMBER:
        if request.member_id in group.pending:
            return _add(group, request, request.member_id, now_ms, settings)
        return _join_again(group, request, now_ms, settings)
    static = static_member(group.members, request.instance_id)
    if static is not None:
        return _come_back(group, request, static, now_ms, settings)
    if request.instance_id is None and request.must_know_its_id:
        if len(group.pending) >= MOST_PENDING:
            return _refuse(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED)
        expires_ms = now_ms + request.session_timeout_ms
        pending = {**group.pending, request.new_member_id: expires_ms}
        answer = JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=request.new_member_id)
        return answered(replace(group, pending=pending), request.ticket, answer)
    return _add(group, request, request.new_member_id, now_ms, settings)


def _has_room(group: Group, member_id: str, settings: GroupSettings) -> bool:
    match group.state:
        case GroupState.EMPTY | GroupState.DEAD:
            return True
        case GroupState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            joined = [item for item in group.members.values() if item.joins is not None]
            waits = member is not None and member.joins is not None
            return waits or len(joined) < settings.max_size
        case _:
            return member_id in group.members or len(group.members) < settings.max_size


def _refuse(group: Group, request: Joining, error: ErrorCode) -> Group:
    known = error in {ErrorCode.FENCED_INSTANCE_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL}
    answer = JoinAnswer(error=error, member_id=request.member_id if known else NO_MEMBER)
    return answered(group, request.ticket, answer)


def _add(
    group: Group, request: Joining, member_id: str, now_ms: int, settings: GroupSettings
) -> Group:
    member = ClassicMember(
        id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=request.protocols,
        joins=request.ticket,
        is_new=True,
        expires_ms=now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS,
    )
    if not group.members:
        group = replace(group, protocol_type=request.protocol_type)
    pending = {key: group.pending[key] for key in group.pending if key != member_id}
    group = replace(
        with_member(group, member),
        leader=group.leader or member_id,
        pending=pending,
        grew=group.grew or group.begins,
    )
    return rebalanced(group, now_ms, settings.initial_delay_ms)


def _join_again(group: Group, request: Joining, now_ms: int, settings: GroupSettings) -> Group:
    error = member_error(group.members, request.member_id, request.instance_id)
    if error is not ErrorCode.NONE:
        return _refuse(group, request, error)
    member = group.members[request.member_id]
    same = tuple(member.protocols) == tuple(request.protocols)
    match group.state:
        case GroupState.COMPLETING_REBALANCE if same:
            known = True  # The answer to its last JoinGroup may have been lost.
        case GroupState.STABLE if same and member.id != group.leader:
            known = True
        case _:
            # A leader that joins again wants a rebalance: the topics that it looks at may have
            # changed.
            known = False
    if known:
        return answered(group, request.ticket, current_generation(group, member.id))
    group = _update(group, request, member)
    return rebalanced(group, now_ms, settings.initial_delay_ms)


def _come_back(
    group: Group, request: Joining, member: ClassicMember, now_ms: int, settings: GroupSettings
) -> Group:
    """A static member joins without its id: it was restarted, and takes its old place."""
    new_id = request.new_member_id
    leader_before = group.leader
    group = with_successor(group, member, new_id)
    group = _update(group, request, group.members[new_id])
    group = kept_alive(group, new_id, now_ms)
    match group.state:
        case GroupState.STABLE if group.elected_protocol() == group.protocol:
            # Its assignment is kept, and nobody need join again (KIP-345).
            answer = current_generation(group, new_id)
            if request.may_skip_assignment:
                answer = replace(answer, skip_assignment=group.leader == new_id)
            else:
                # An old client takes itself for the leader by the id, and would assign again.
                answer = replace(answer, leader=leader_before or NO_MEMBER, members=())
            return join_answered(group, new_id, answer)
        case GroupState.STABLE:
            return rebalanced(group, now_ms, settings.initial_delay_ms)
        case GroupState.COMPLETING_REBALANCE:
            # The leader may know it by its old id already.
            return prepared(group, now_ms)
        case _:
            return completed_if_joined(group, now_ms)


def _update(group: Group, request: Joining, member: ClassicMember) -> Group:
    """The group with what a member's JoinGroup says; it waits for the answer to this one only."""
    late = JoinAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.id)
    group = answered(group, member.joins, late)
    changed = replace(
        member,
        client_id=request.client_id,
        client_host=request.client_host,
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        joins=request.ticket,
    )
    return with_member(group, changed)


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """The topics of all members, by their own names; None if they don't tell."""
    if group.protocol_type != CONSUMER:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        for _, metadata in member.protocols[:1]:
            try:
                topics.update(read_subscription(metadata).topics)
            except MalformedError:
                return None
    return frozenset(topics)
