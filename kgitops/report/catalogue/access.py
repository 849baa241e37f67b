"""The principals that declared ACLs let read or write a topic, by Kafka's rules."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

_EVERY = "*"


class SeenTopic(Struct, frozen=True):
    """A name of a topic, in a virtual cluster or in none; a link gives it a further one."""

    name: str
    virtual_cluster: str | None = None


class Right(Struct, frozen=True, order=True):
    """A principal, and ``by``: the pattern, the host and the link by which it has the right."""

    principal: str
    by: str = ""


class Access(Struct, frozen=True, kw_only=True):
    """The principals that may do an operation; ``denied`` are those that a Deny stops first."""

    allowed: tuple[Right, ...] = ()
    denied: tuple[Right, ...] = ()


class TopicBindings:
    """The declared bindings on topics, found by the topic that they are for."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._literal: dict[str, list[AclBinding]] = {}
        self._patterns: list[AclBinding] = []
        for binding in bindings:
            if binding.resource_type is not ResourceType.TOPIC:
                continue
            literal = binding.pattern_type is PatternType.LITERAL
            if literal and binding.resource_name != _EVERY:
                self._literal.setdefault(binding.resource_name, []).append(binding)
            else:
                self._patterns.append(binding)

    def on(self, topic: SeenTopic) -> list[AclBinding]:
        """The bindings that match the topic, in order."""
        found = [*self._literal.get(topic.name, ()), *self._patterns]
        return sorted(binding for binding in found if _matches(binding, topic))


def access_to(found: Sequence[tuple[AclBinding, str]], operation: Operation) -> Access:
    """The principals that the bindings, each with the link it is for, allow and deny it."""
    about = [item for item in found if item[0].operation in (operation, Operation.ALL)]
    sides = {
        permission: tuple(
            sorted(
                {
                    _right(binding, link)
                    for binding, link in about
                    if binding.permission_type is permission
                }
            )
        )
        for permission in PermissionType
    }
    return Access(allowed=sides[PermissionType.ALLOW], denied=sides[PermissionType.DENY])


def _matches(binding: AclBinding, topic: SeenTopic) -> bool:
    if binding.scoped != (topic.virtual_cluster is not None):
        return False
    if topic.virtual_cluster is not None and not _fits(
        binding.virtual_cluster, binding.virtual_cluster_pattern_type, topic.virtual_cluster
    ):
        return False
    return _fits(binding.resource_name, binding.pattern_type, topic.name)


def _fits(pattern: str, kind: PatternType, name: str) -> bool:
    if kind is PatternType.PREFIXED:
        return name.startswith(pattern)
    return pattern in (_EVERY, name)


def _right(binding: AclBinding, link: str) -> Right:
    prefixed = binding.pattern_type is PatternType.PREFIXED
    notes = [f"all {binding.resource_name}…"] if prefixed else []
    notes += ["every topic"] if not prefixed and binding.resource_name == _EVERY else []
    notes += [f"from {binding.host}"] if binding.host != _EVERY else []
    notes += [f"as {link}"] if link else []
    return Right(binding.principal, ", ".join(notes))
