"""The bindings of virtual clusters, by where they act and what they are about."""

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
    """The bindings that act in one virtual cluster."""

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
        """Every one."""
        for bindings in self._of.values():
            yield from bindings

    @property
    def denies(self) -> bool:
        """Whether any takes something away from a topic."""
        return bool(self._denials)

    def of(self, principal: str) -> Iterator[AclBinding]:
        """What may concern the user, by name or as a member like any other (VC-166)."""
        for name in (principal, EVERYONE):
            yield from self._of.get(name, ())

    def about(self, link: str) -> Iterator[AclBinding]:
        """What may concern the link; a prefix may be of another."""
        yield from self._links.get(link, ())
        yield from self._patterns

    def _about(self, binding: AclBinding) -> dict[AclBinding, None]:
        literal = binding.pattern_type is PatternType.LITERAL
        if literal and binding.resource_name != WILDCARD:
            return self._links[binding.resource_name]
        return self._patterns


class ScopedAcls:
    """All bindings of virtual clusters; those of many are looked up in each (VC-165)."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._literal: defaultdict[str, set[AclBinding]] = defaultdict(set)
        self._wide: set[AclBinding] = set()
        self._indexed: dict[str, BindingIndex] = {}
        for binding in bindings:
            if is_logical(binding) and binding.resource_type is not ResourceType.CLUSTER:
                (self._wide if spans_virtual_clusters(binding) else self._at(binding)).add(binding)

    def in_virtual_cluster(self, name: str) -> BindingIndex:
        """The bindings that act in it."""
        found = self._indexed.get(name)
        if found is None:
            here = VirtualClusterScope(name)
            wide = (
                binding for binding in self._wide if VirtualClusterScope.of(binding).covers(here)
            )
            found = self._indexed[name] = BindingIndex((*self._literal.get(name, ()), *wide))
        return found

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
    """Whether the binding denies something on topics."""
    topics = binding.resource_type is ResourceType.TOPIC
    return topics and binding.permission_type is PermissionType.DENY


def spans_virtual_clusters(binding: AclBinding) -> bool:
    """Whether the binding may act in more than one virtual cluster."""
    return (
        binding.virtual_cluster_pattern_type is PatternType.PREFIXED
        or binding.virtual_cluster == WILDCARD
    )
