"""The principals that declared ACLs let read or write a topic, by Kafka's rules."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.model.resources.acls import (
    EVERYONE,
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
    """The principals that may do an operation; ``denied`` are those that a Deny stops.

    One that a Deny stops wherever it comes from is not among the allowed.
    """

    allowed: tuple[Right, ...] = ()
    denied: tuple[Right, ...] = ()


class Way(Struct, frozen=True):
    """A name by which clients reach a topic, with the bindings that count for them there.

    In a virtual cluster those of the physical cluster, on the physical name, count as well
    (VC-103). ``link`` is the name as a note, where it is not the declared one.
    """

    seen: SeenTopic
    bindings: Sequence[AclBinding]
    link: str = ""


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

    @property
    def on_every(self) -> list[AclBinding]:
        """The bindings of the physical cluster on every topic, whatever its name will be."""
        return sorted(
            binding
            for binding in self._patterns
            if not binding.scoped and binding.pattern_type is PatternType.LITERAL
        )


def access_to(
    ways: Sequence[Way], operation: Operation, members: Mapping[str, str] | None = None
) -> Access:
    """The principals that may do it by one of these ways; a Deny wins over every Allow.

    ``members`` are the users of virtual clusters, each with its own: where it is, all else that a
    binding gives it has no effect.
    """
    members = members or {}
    allowed: set[Right] = set()
    denied: set[Right] = set()
    for way in ways:
        about = [item for item in way.bindings if item.operation in (operation, Operation.ALL)]
        denials = [item for item in about if item.permission_type is PermissionType.DENY]
        for binding in _effective(about, way.seen, members):
            if binding.permission_type is PermissionType.DENY:
                denied.add(_right(binding, way.link))
            elif not any(_stops(denial, binding) for denial in denials):
                allowed.add(_right(binding, way.link))
    return Access(allowed=tuple(sorted(allowed)), denied=tuple(sorted(denied)))


def _effective(
    bindings: Iterable[AclBinding], seen: SeenTopic, members: Mapping[str, str]
) -> Iterator[AclBinding]:
    """The bindings that say something of who comes this way."""
    for binding in bindings:
        home = members.get(binding.principal)
        if home is not None:
            if home == seen.virtual_cluster:
                yield binding
        elif binding.scoped == (seen.virtual_cluster is not None):
            yield binding


def _stops(denial: AclBinding, binding: AclBinding) -> bool:
    return denial.principal in (binding.principal, EVERYONE) and denial.host in (
        binding.host,
        _EVERY,
    )


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
