"""ACLs indexed by resource pattern, so that those that meet are found without comparing all."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    EVERYONE,
    AclBinding,
    PatternType,
    ResourceType,
)

_T = TypeVar("_T")


def covers(rule: AclBinding, other: AclBinding) -> bool:
    """Return whether the rule's pattern matches every resource that the other's matches."""
    if rule.resource_type is not other.resource_type:
        return False
    if rule.pattern_type is PatternType.LITERAL and rule.resource_name == "*":
        return True
    if other.pattern_type is PatternType.LITERAL and other.resource_name == "*":
        return False
    if rule.pattern_type is PatternType.PREFIXED:
        return other.resource_name.startswith(rule.resource_name)
    return other.pattern_type is PatternType.LITERAL and other.resource_name == rule.resource_name


class _SortedNames:
    """Sorted names, in which those with a common prefix are adjacent."""

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._sorted = sorted(self._places)

    def starting(self, prefix: str) -> list[str]:
        """Return the names that begin with the prefix, in their original order."""
        names = self._sorted
        first = end = bisect_left(names, prefix)
        while end < len(names) and names[end].startswith(prefix):
            end += 1
        return sorted(names[first:end], key=self._places.__getitem__)


class PatternIndex(Generic[_T]):
    """Items indexed by the resource pattern of a binding; one instance serves one resource type."""

    def __init__(self) -> None:
        self._literal: dict[str, list[_T]] = {}
        self._prefixed: dict[str, list[_T]] = {}
        self._names: dict[PatternType, _SortedNames] = {}

    def add(self, binding: AclBinding, item: _T) -> None:
        """Index ``item`` by the pattern of ``binding``."""
        self._names.clear()
        self._of(binding.pattern_type).setdefault(binding.resource_name, []).append(item)

    def reach(self, name: str) -> bool:
        """Return whether any item's pattern matches the resource ``name``."""
        return next(self._of_name(name), None) is not None

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """Yield the items whose pattern matches everything that ``binding`` matches."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.LITERAL:
            yield from self._literal.get("*", ()) if name == "*" else self._of_name(name)
            return
        yield from self._literal.get("*", ())
        yield from self._of_prefixes(name)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """Yield the items whose pattern has a resource in common with ``binding``."""
        yield from self.covering(binding)
        everything = binding.pattern_type is PatternType.LITERAL and binding.resource_name == "*"
        if binding.pattern_type is PatternType.LITERAL and not everything:
            return
        prefix = "" if everything else binding.resource_name
        for name in self._starting(PatternType.LITERAL, prefix):
            if name != "*":
                yield from self._literal[name]
        for name in self._starting(PatternType.PREFIXED, prefix):
            if everything or name != prefix:
                yield from self._prefixed[name]

    def _starting(self, pattern: PatternType, prefix: str) -> list[str]:
        """Return the names that begin with the prefix, in the order in which they were added."""
        if pattern not in self._names:
            self._names[pattern] = _SortedNames(self._of(pattern))
        return self._names[pattern].starting(prefix)

    def _of_name(self, name: str) -> Iterator[_T]:
        yield from self._literal.get("*", ())
        yield from self._literal.get(name, ())
        yield from self._of_prefixes(name)

    def _of_prefixes(self, name: str) -> Iterator[_T]:
        if self._prefixed:
            for end in range(len(name) + 1):
                yield from self._prefixed.get(name[:end], ())

    def _of(self, pattern: PatternType) -> dict[str, list[_T]]:
        return self._literal if pattern is PatternType.LITERAL else self._prefixed


_Scope = tuple[str, PatternType]
"""The virtual clusters that a binding applies to; ``kafka-cluster`` stands for none."""


class AclIndex(Generic[_T]):
    """Items indexed by whole bindings: by scope, resource type and principal, then by pattern.

    Bindings in a virtual cluster use local names of resources, global ones physical names: the two
    never meet.
    """

    def __init__(self, items: Iterable[tuple[AclBinding, _T]] = ()) -> None:
        self._index: dict[_Scope, dict[str, dict[str, PatternIndex[_T]]]] = {}
        self._wide: list[_Scope] = []
        for binding, item in items:
            self.add(binding, item)

    def add(self, binding: AclBinding, item: _T) -> None:
        """Index ``item`` by ``binding``."""
        scope = _scope(binding)
        if scope not in self._index and _is_wide(scope) and binding.scoped:
            self._wide.append(scope)
        types = self._index.setdefault(scope, {})
        principals = types.setdefault(binding.resource_type, {})
        principals.setdefault(binding.principal, PatternIndex()).add(binding, item)

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """Yield items for the same principal, or everyone, that match all that it matches."""
        for scope in self._scopes(binding, _reaches):
            principals = self._index[scope].get(binding.resource_type, {})
            for principal in dict.fromkeys((binding.principal, EVERYONE)):
                if principal in principals:
                    yield from principals[principal].covering(binding)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """Yield items that have a principal and a resource in common with ``binding``."""
        everyone = binding.principal == EVERYONE
        for scope in self._scopes(binding, _meet):
            principals = self._index[scope].get(binding.resource_type, {})
            for principal in principals if everyone else (binding.principal, EVERYONE):
                if principal in principals:
                    yield from principals[principal].meeting(binding)

    def _scopes(
        self, binding: AclBinding, related: Callable[[_Scope, _Scope], bool]
    ) -> Iterator[_Scope]:
        """Yield the scopes related to that of ``binding``; one lookup if none is a pattern."""
        scope = _scope(binding)
        if not binding.scoped or not (self._wide or _is_wide(scope)):
            if scope in self._index:
                yield scope
            return
        candidates = self._index if _is_wide(scope) else [*self._wide, scope]
        yield from (other for other in candidates if other in self._index and related(other, scope))


def _scope(binding: AclBinding) -> _Scope:
    return binding.virtual_cluster, binding.virtual_cluster_pattern_type


def _is_wide(scope: _Scope) -> bool:
    return scope[1] is PatternType.PREFIXED or scope[0] == "*"


def _reaches(scope: _Scope, other: _Scope) -> bool:
    """Return whether a scope includes every virtual cluster of the other (VC-144)."""
    name, pattern = scope
    if scope == other:
        return True
    if CLUSTER_NAME in (name, other[0]):
        return False
    if pattern is PatternType.PREFIXED:
        return other[0] != "*" and other[0].startswith(name)
    return name == "*"


def _meet(scope: _Scope, other: _Scope) -> bool:
    return _reaches(scope, other) or _reaches(other, scope)


class ResourcesInUse:
    """The topics of a cluster, and the cluster itself, with the ACLs that guard them.

    Under allow.everyone.if.no.acl.found a resource that no ACL matches is open to all; from the
    first ACL on, even an Allow for one principal, only principals that an ACL allows get access.
    """

    def __init__(self, current: ClusterState) -> None:
        self._current = current

    def unguarded(self, binding: AclBinding) -> bool:
        """Return whether ``binding`` would be the first ACL on a resource that exists."""
        if binding.scoped:
            return False  # its resources are those of a virtual cluster, by their local names
        match binding.resource_type:
            case ResourceType.CLUSTER if binding.resource_name != CLUSTER_NAME:
                return False
            case ResourceType.CLUSTER:
                return not self._cluster_has_rules
            case ResourceType.TOPIC:
                return self._reaches_bare_topic(binding)
            case _:
                return False

    @cached_property
    def _cluster_has_rules(self) -> bool:
        return any(
            acl.resource_type is ResourceType.CLUSTER and acl.resource_name == CLUSTER_NAME
            for acl in self._current.acls
        )

    @cached_property
    def _bare_topics(self) -> list[str]:
        guards: PatternIndex[AclBinding] = PatternIndex()
        for acl in self._current.acls:
            if acl.resource_type is ResourceType.TOPIC and not acl.scoped:
                guards.add(acl, acl)
        topics = self._current.topics
        return sorted(n for n in topics if not topics[n].internal and not guards.reach(n))

    def _reaches_bare_topic(self, binding: AclBinding) -> bool:
        bare, name = self._bare_topics, binding.resource_name
        if binding.pattern_type is PatternType.LITERAL and name == "*":
            return bool(bare)
        at = bisect_left(bare, name)
        if at == len(bare):
            return False
        if binding.pattern_type is PatternType.LITERAL:
            return bare[at] == name
        return bare[at].startswith(name)
