"""The order in which changes run, and why: make before break, deletions last and mirrored.

Topics before the ACLs that name them, a Deny before an Allow; then, in reverse, ACLs before
the topic they name. A Deny is lifted only after every Allow that goes is gone (A4-85).
"""

from collections.abc import Iterable
from dataclasses import replace

from kgitops.model.acls import AclBinding, PatternType, PermissionType, ResourceType
from kgitops.model.requests import (
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteTopicRequest,
)
from kgitops.plan.plan import Action, Change, Kind, PlannedRequest

_Names = dict[str, list[str]]


def order_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes as they run, their requests numbered ``r1``, ``r2``, … and bound together."""
    ordered = sorted(changes, key=lambda change: (_phase(change), change.address))
    numbered = _number(ordered)
    return _bind(numbered)


def _phase(change: Change) -> int:
    deletes = Action.DELETE in change.actions
    match change.kind:
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
    """Add what must be done first in another object."""
    creates: _Names = {}
    granted: dict[tuple[ResourceType, str], list[str]] = {}
    revoked: _Names = {}
    for planned in (planned for change in changes for planned in change.requests):
        match planned.request:
            case CreateTopicRequest(topic=topic):
                creates.setdefault(topic, []).append(planned.id)
            case CreateAclRequest(binding=binding):
                key = (binding.resource_type, binding.resource_name)
                granted.setdefault(key, []).append(planned.id)
            case DeleteAclRequest(binding=binding) if _names_topic(binding):
                revoked.setdefault(binding.resource_name, []).append(planned.id)
            case _:
                pass

    def bound(planned: PlannedRequest) -> PlannedRequest:
        match planned.request:
            case CreateAclRequest(binding=binding) if _names_topic(binding):
                first = creates.get(binding.resource_name, [])
            case DeleteAclRequest(binding=binding):
                first = granted.get((binding.resource_type, binding.resource_name), [])
            case DeleteTopicRequest(topic=topic):
                first = revoked.get(topic, [])
            case _:
                first = []
        return replace(planned, depends_on=(*planned.depends_on, *first)) if first else planned

    return tuple(
        replace(change, requests=tuple(map(bound, change.requests))) if change.requests else change
        for change in changes
    )


def _names_topic(binding: AclBinding) -> bool:
    return (
        binding.resource_type is ResourceType.TOPIC and binding.pattern_type is PatternType.LITERAL
    )
