"""The rights of one user, said with the names of a virtual cluster (VC-194)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.acls import CLUSTER_NAME, AclBinding, PatternType, ResourceType
from kgitops.plan.virtual_clusters.links.after import LinksAfter

_LOCAL_IDS = (ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


class AclTranslation:
    """The ACLs on the cluster by scope and principal, and the links as they will be."""

    def __init__(self, current: ClusterState, links: LinksAfter) -> None:
        self._current = current
        self._links = links
        self._targets: dict[str, Mapping[str, str | None]] = {}

    def of(self, source: str, principal: str) -> Sequence[AclBinding]:
        """The bindings of exactly this principal in a virtual cluster, or in none (VC-196)."""
        return self._by_scope.get((source, principal), ())

    def translate(self, binding: AclBinding, target: str) -> tuple[AclBinding, ...]:
        """What says the same in ``target``; nothing where it has no name for it."""
        if binding.resource_type is ResourceType.TOPIC:
            names = self._link_names(binding, target)
        elif binding.resource_type in _LOCAL_IDS:
            return (_in(target, binding),)
        else:
            return ()
        return tuple(
            replace(_in(target, binding), resource_name=name, pattern_type=PatternType.LITERAL)
            for name in names
        )

    def without_link(self, binding: AclBinding, target: str) -> list[str]:
        """The physical topics that the binding reaches and ``target`` has no name for."""
        linked = set(self._target(target).values())
        return sorted(topic for topic in self._reached(binding) if topic not in linked)

    def _link_names(self, binding: AclBinding, target: str) -> list[str]:
        name, links = binding.resource_name, self._target(target)
        if binding.pattern_type is PatternType.LITERAL and name == "*":
            return ["*"]
        if binding.scoped:
            topics = set(self._reached(binding))
            return sorted(link for link, topic in links.items() if topic in topics)
        if binding.pattern_type is PatternType.LITERAL:
            return sorted(link for link, topic in links.items() if topic == name)
        return sorted(link for link, topic in links.items() if topic and topic.startswith(name))

    def _reached(self, binding: AclBinding) -> Iterator[str]:
        """The physical topics that the binding reaches now."""
        if binding.resource_type is not ResourceType.TOPIC:
            return
        if binding.scoped:
            source = self._current.virtual_clusters.get(binding.virtual_cluster)
            names = {link.name: link.topic for link in source.links.values()} if source else {}
        else:
            topics = self._current.topics.values()
            names = {topic.name: topic.name for topic in topics if not topic.internal}
        for name, topic in names.items():
            if _matches(binding, name):
                yield topic

    def _target(self, target: str) -> Mapping[str, str | None]:
        if target not in self._targets:
            self._targets[target] = self._links.of(target)
        return self._targets[target]

    @cached_property
    def _by_scope(self) -> Mapping[tuple[str, str], Sequence[AclBinding]]:
        found: dict[tuple[str, str], list[AclBinding]] = {}
        for acl in sorted(self._current.acls):
            if acl.virtual_cluster_pattern_type is PatternType.LITERAL:
                found.setdefault((acl.virtual_cluster, acl.principal), []).append(acl)
        return found


def _in(target: str, binding: AclBinding) -> AclBinding:
    return replace(
        binding, virtual_cluster=target, virtual_cluster_pattern_type=PatternType.LITERAL
    )


def _matches(binding: AclBinding, name: str) -> bool:
    if binding.pattern_type is PatternType.PREFIXED:
        return name.startswith(binding.resource_name)
    return binding.resource_name in (name, "*")


def of_source(source: str) -> str:
    """The source for a sentence."""
    return "the cluster itself" if source == CLUSTER_NAME else source
