"""The order in which changes run, and why: make before break, deletions last and mirrored.

Topics before the ACLs that name them, a Deny before an Allow; then, in reverse, ACLs before
the topic they name. A Deny is lifted only after every Allow that goes is gone (A4-85).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kgitops.model.acls import AclBinding, PatternType, PermissionType, ResourceType
from kgitops.model.requests import (
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteTopicRequest,
    Request,
)
from kgitops.plan.patterns import Rules
from kgitops.plan.plan import Action, Change, Kind, PlannedRequest


def order_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes as they run, their requests numbered ``r1``, ``r2``, … and bound together."""
    ordered = sorted(changes, key=lambda change: (_phase(change), change.address))
    return _bind(_number(ordered))


def _phase(change: Change) -> int:
    deletes = Action.DELETE in change.actions
    match change.kind:
        case Kind.BROKER:
            return 1
        case Kind.TOPIC:
            if deletes:
                return 9
            return 0 if Action.CREATE in change.actions else 1
        case Kind.QUOTA:
            return 7 if deletes else 2
        case Kind.ACL:
            view = change.after or change.before
            denies = view is not None and view["permission"] == PermissionType.DENY
            if deletes:
                return 6 if denies else 5
            return 3 if denies else 4


def _number(changes: list[Change]) -> list[Change]:
    ids: dict[str, str] = {}
    for change in changes:
        for planned in change.requests:
            ids[planned.id] = f"r{len(ids) + 1}"
    return [
        replace(
            change,
            requests=tuple(
                replace(
                    planned,
                    id=ids[planned.id],
                    undoes=ids[planned.undoes] if planned.undoes else None,
                    depends_on=tuple(ids[name] for name in planned.depends_on),
                )
                for planned in change.requests
            ),
        )
        if change.requests
        else change
        for change in changes
    ]


def _bind(changes: list[Change]) -> tuple[Change, ...]:
    """Add what must be done first in another object, so that no order of waves opens a window."""
    before = _Before(planned for change in changes for planned in change.requests)
    return tuple(
        replace(change, requests=tuple(map(before.bind, change.requests)))
        if change.requests
        else change
        for change in changes
    )


class _Before:
    """The ids of requests that others may have to wait for."""

    def __init__(self, requests: Iterable[PlannedRequest]) -> None:
        self._topics: dict[str, list[str]] = {}
        self._revoked: dict[str, list[str]] = {}
        self._made: dict[PermissionType, Rules[str]] = {kind: Rules() for kind in PermissionType}
        self._gone: dict[PermissionType, Rules[str]] = {kind: Rules() for kind in PermissionType}
        for planned in requests:
            match planned.request:
                case CreateTopicRequest(topic=topic):
                    self._topics.setdefault(topic, []).append(planned.id)
                case CreateAclRequest(binding=binding):
                    self._made[binding.permission_type].add(binding, planned.id)
                case DeleteAclRequest(binding=binding):
                    self._gone[binding.permission_type].add(binding, planned.id)
                    if _names_topic(binding):
                        self._revoked.setdefault(binding.resource_name, []).append(planned.id)
                case _:
                    pass

    def bind(self, planned: PlannedRequest) -> PlannedRequest:
        """The request with all that it depends on."""
        first = dict.fromkeys(self._first(planned.request))
        if not first:
            return planned
        return replace(planned, depends_on=(*planned.depends_on, *first))

    def _first(self, request: Request) -> Iterator[str]:
        match request:
            case CreateAclRequest(binding=binding):
                if _names_topic(binding):
                    yield from self._topics.get(binding.resource_name, ())
                if binding.permission_type is PermissionType.ALLOW:
                    yield from self._made[PermissionType.DENY].meeting(binding)
            case DeleteAclRequest(binding=binding):
                # The rule that replaces another stands before that one goes.
                yield from self._made[binding.permission_type].meeting(binding)
                if binding.permission_type is PermissionType.DENY:
                    yield from self._gone[PermissionType.ALLOW].meeting(binding)
            case DeleteTopicRequest(topic=topic):
                yield from self._revoked.get(topic, ())
            case _:
                pass


def _names_topic(binding: AclBinding) -> bool:
    return (
        binding.resource_type is ResourceType.TOPIC and binding.pattern_type is PatternType.LITERAL
    )
