"""Indexes the bindings of virtual clusters by virtual cluster, principal and link."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kgitops.lowering.acls.compile import WILDCARD, is_logical
from kgitops.model.resources.acls import (
    EVERYONE,
    AclBinding,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.virtual_clusters.rights import VirtualClusterScope


class BindingIndex:
    """The bindings that act in one virtual cluster, by principal and by link."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._of: defaultdict[str, dict[AclBinding, None]] = defaultdict(dict)
        self._links: defaultdict[str, dict[AclBinding, None]] = defaultdict(dict)
        self._patterns: dict[AclBinding, None] = {}
        self._denials: set[AclBinding] = set()
        for binding in sorted(bindings):
            self.add(binding)

    def add(self, binding: AclBinding) -> None:
        """Take one in."""
        self._of[binding.principal][binding] = None
        if binding.resource_type is ResourceType.TOPIC:
            self._about(binding)[binding] = None
        if is_topic_denial(binding):
            self._denials.add(binding)

    def discard(self, binding: AclBinding) -> None:
        """Leave one out."""
        self._of[binding.principal].pop(binding, None)
        self._denials.discard(binding)
        if binding.resource_type is ResourceType.TOPIC:
            self._about(binding).pop(binding, None)

    def all(self) -> Iterator[AclBinding]:
        """All bindings."""
        for bindings in self._of.values():
            yield from bindings

    @property
    def denies(self) -> bool:
        """True if any binding denies an operation on topics."""
        return bool(self._denials)

    def of(self, principal: str) -> Iterator[AclBinding]:
        """The bindings that may apply to a user, by name or through ``User:*`` (VC-166)."""
        for name in (principal, EVERYONE):
            yield from self._of.get(name, ())

    def about(self, link: str) -> Iterator[AclBinding]:
        """The bindings that may apply to the link; those with patterns must still be matched."""
        yield from self._links.get(link, ())
        yield from self._patterns

    def _about(self, binding: AclBinding) -> dict[AclBinding, None]:
        literal = binding.pattern_type is PatternType.LITERAL
        if literal and binding.resource_name != WILDCARD:
            return self._links[binding.resource_name]
        return self._patterns


class ScopedAcls:
    """All bindings of virtual clusters; those whose scope is a pattern act in many (VC-165)."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._literal: defaultdict[str, set[AclBinding]] = defaultdict(set)
        self._wide: set[AclBinding] = set()
        self._indexed: dict[str, BindingIndex] = {}
        for binding in bindings:
            if is_logical(binding) and binding.resource_type is not ResourceType.CLUSTER:
                (self._wide if spans_virtual_clusters(binding) else self._at(binding)).add(binding)

    def in_virtual_cluster(self, name: str) -> BindingIndex:
        """The bindings that act in the virtual cluster of this name."""
        index = self._indexed.get(name)
        if index is None:
            scope = VirtualClusterScope(name)
            wide = (
                binding for binding in self._wide if VirtualClusterScope.of(binding).covers(scope)
            )
            index = self._indexed[name] = BindingIndex((*self._literal.get(name, ()), *wide))
        return index

    def add(self, binding: AclBinding) -> None:
        """Take one in."""
        if spans_virtual_clusters(binding):
            self._wide.add(binding)
            self._indexed.clear()
        else:
            self._at(binding).add(binding)
            self.in_virtual_cluster(binding.virtual_cluster).add(binding)

    def discard(self, binding: AclBinding) -> None:
        """Leave one out."""
        if spans_virtual_clusters(binding):
            self._wide.discard(binding)
            self._indexed.clear()
        else:
            self._at(binding).discard(binding)
            self.in_virtual_cluster(binding.virtual_cluster).discard(binding)

    def _at(self, binding: AclBinding) -> set[AclBinding]:
        return self._literal[binding.virtual_cluster]


def is_topic_denial(binding: AclBinding) -> bool:
    """True if the binding denies an operation on topics."""
    topics = binding.resource_type is ResourceType.TOPIC
    return topics and binding.permission_type is PermissionType.DENY


def spans_virtual_clusters(binding: AclBinding) -> bool:
    """True if the binding may act in more than one virtual cluster."""
    return (
        binding.virtual_cluster_pattern_type is PatternType.PREFIXED
        or binding.virtual_cluster == WILDCARD
    )
