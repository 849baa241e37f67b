"""What topics and ACLs must wait for in each other, so that no order of waves opens a window."""

from collections.abc import Iterable, Iterator

from kgitops.model.requests import (
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteTopicRequest,
)
from kgitops.model.resources.acls import AclBinding, PatternType, PermissionType, ResourceType
from kgitops.plan.acls.patterns import Rules
from kgitops.plan.document.plan import PlannedRequest


class GlobalEdges:
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

    def first(self, planned: PlannedRequest) -> Iterator[str]:
        """What must be done before it."""
        match planned.request:
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
    """Whether it is about one topic by the topic's own name."""
    return (
        binding.resource_type is ResourceType.TOPIC
        and binding.pattern_type is PatternType.LITERAL
        and not binding.scoped
    )
