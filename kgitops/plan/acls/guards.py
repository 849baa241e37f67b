"""Which resources are in use without any ACL: the first rule on one may shut everyone else out.

Under allow.everyone.if.no.acl.found a resource that no rule reaches is open to all; from the first
rule on, even an Allow for one principal, only those get in whom some rule allows.
"""

from bisect import bisect_left
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.plan.acls.patterns import Patterns


class ResourcesInUse:
    """The topics of a cluster, and the cluster itself: what is known to be there."""

    def __init__(self, current: ClusterState) -> None:
        self._current = current

    def unguarded(self, binding: AclBinding) -> bool:
        """Whether ``binding`` would be the first rule on something that is in use."""
        if binding.scoped:
            return False  # it is about names of a virtual cluster, not of the cluster
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
        guards: Patterns[AclBinding] = Patterns()
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
