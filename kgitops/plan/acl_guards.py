"""Which resources are in use without any ACL: the first rule on one may shut everyone else out.

Under allow.everyone.if.no.acl.found a resource that no rule reaches is open to all; from the first
rule on, even an Allow for one principal, only those get in whom some rule allows.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from kgitops.model.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.model.cluster_state import ClusterState
from kgitops.plan.patterns import Patterns


class ResourcesInUse:
    """The topics of a cluster, and the cluster itself: what is known to be there."""

    def __init__(self, current: ClusterState) -> None:
        self._current = current

    def unguarded(self, binding: AclBinding) -> bool:
        """Whether ``binding`` would be the first rule on something that is in use."""
        guards = self._guards.get(binding.resource_type, Patterns())
        reached = (
            replace(binding, resource_name=name, pattern_type=PatternType.LITERAL)
            for name in self._reached(binding)
        )
        return any(next(guards.covering(resource), None) is None for resource in reached)

    @cached_property
    def _guards(self) -> dict[ResourceType, Patterns[AclBinding]]:
        guards: dict[ResourceType, Patterns[AclBinding]] = {}
        for acl in self._current.acls:
            guards.setdefault(acl.resource_type, Patterns()).add(acl, acl)
        return guards

    @cached_property
    def _topics(self) -> list[str]:
        return sorted(name for name, topic in self._current.topics.items() if not topic.internal)

    def _reached(self, binding: AclBinding) -> Iterator[str]:
        """The names of what is in use and matches the pattern."""
        name = binding.resource_name
        if binding.resource_type is ResourceType.CLUSTER:
            yield CLUSTER_NAME
        elif binding.resource_type is not ResourceType.TOPIC:
            return
        elif binding.pattern_type is PatternType.PREFIXED:
            for topic in self._topics[bisect_left(self._topics, name) :]:
                if not topic.startswith(name):
                    return
                yield topic
        elif name == "*":
            yield from self._topics
        elif name in self._current.topics:
            yield name
