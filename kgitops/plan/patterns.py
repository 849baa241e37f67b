"""Which ACLs reach which resources, found by Kafka's patterns instead of comparing all with all."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from kgitops.model.acls import AclBinding, PatternType

EVERYONE = "User:*"
_T = TypeVar("_T")


def covers(rule: AclBinding, other: AclBinding) -> bool:
    """Whether the rule's pattern reaches every resource that the other's reaches."""
    if rule.resource_type is not other.resource_type:
        return False
    if rule.pattern_type is PatternType.LITERAL and rule.resource_name == "*":
        return True
    if other.pattern_type is PatternType.LITERAL and other.resource_name == "*":
        return False
    if rule.pattern_type is PatternType.PREFIXED:
        return other.resource_name.startswith(rule.resource_name)
    return other.pattern_type is PatternType.LITERAL and other.resource_name == rule.resource_name


class Patterns(Generic[_T]):
    """Items filed under the pattern of a binding; one instance is for one resource type."""

    def __init__(self) -> None:
        self._literal: dict[str, list[_T]] = {}
        self._prefixed: dict[str, list[_T]] = {}

    def add(self, binding: AclBinding, item: _T) -> None:
        """File ``item`` under the pattern of ``binding``."""
        self._of(binding.pattern_type).setdefault(binding.resource_name, []).append(item)

    def reach(self, name: str) -> bool:
        """Whether anything is filed under a pattern that matches the resource ``name``."""
        return next(self._of_name(name), None) is not None

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """What is filed under patterns that reach all that ``binding`` reaches."""
        name = binding.resource_name
        if binding.pattern_type is PatternType.LITERAL:
            yield from self._literal.get("*", ()) if name == "*" else self._of_name(name)
            return
        yield from self._literal.get("*", ())
        yield from self._of_prefixes(name)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """What is filed under patterns that have a resource in common with ``binding``."""
        yield from self.covering(binding)
        everything = binding.pattern_type is PatternType.LITERAL and binding.resource_name == "*"
        if binding.pattern_type is PatternType.LITERAL and not everything:
            return
        prefix = "" if everything else binding.resource_name
        for name, items in self._literal.items():
            if name != "*" and name.startswith(prefix):
                yield from items
        for name, items in self._prefixed.items():
            if name.startswith(prefix) and (everything or name != prefix):
                yield from items

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


class Rules(Generic[_T]):
    """Items filed under whole bindings: by resource type and principal, then by pattern."""

    def __init__(self, items: Iterable[tuple[AclBinding, _T]] = ()) -> None:
        self._index: dict[str, dict[str, Patterns[_T]]] = {}
        for binding, item in items:
            self.add(binding, item)

    def add(self, binding: AclBinding, item: _T) -> None:
        """File ``item`` under ``binding``."""
        principals = self._index.setdefault(binding.resource_type, {})
        principals.setdefault(binding.principal, Patterns()).add(binding, item)

    def covering(self, binding: AclBinding) -> Iterator[_T]:
        """What is filed for the principal, or for everyone, and reaches all that it reaches."""
        principals = self._index.get(binding.resource_type, {})
        for principal in dict.fromkeys((binding.principal, EVERYONE)):
            if principal in principals:
                yield from principals[principal].covering(binding)

    def meeting(self, binding: AclBinding) -> Iterator[_T]:
        """What is filed for a principal and a resource that ``binding`` is for as well."""
        principals = self._index.get(binding.resource_type, {})
        everyone = binding.principal == EVERYONE
        for principal in principals if everyone else (binding.principal, EVERYONE):
            if principal in principals:
                yield from principals[principal].meeting(binding)
