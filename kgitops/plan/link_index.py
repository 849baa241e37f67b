"""Links and virtual clusters as they are, and as they will be, found without looking at all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.resources.virtual_clusters import LocalName


@dataclass(frozen=True, slots=True)
class LinkIndex:
    """The links to each physical topic; ``declared`` are virtual clusters that a plan makes."""

    by_topic: Mapping[str, tuple[LocalName, ...]] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

    def to(self, topic: str) -> tuple[LocalName, ...]:
        """The links that lead to the physical topic, in order."""
        return self.by_topic.get(topic, ())

    def affected(self, topic: str, *, besides: LocalName | None) -> Mapping[str, Json]:
        """Who else sees what becomes of the topic, as a part of a change's impact (VC-036)."""
        others = [str(local) for local in self.to(topic) if local != besides]
        return {"affects": others} if others else {}


NO_LINKS = LinkIndex()


def index_links(desired: DesiredState, current: ClusterState) -> LinkIndex:
    """The links on the cluster, and the virtual clusters that are declared and selected."""
    scope = desired.scope
    declared = frozenset(
        item.name
        for item in desired.virtual_clusters
        if item.address not in scope.excludes
        and (not scope.targets or item.address in scope.targets)
    )
    if not current.virtual_clusters:
        return LinkIndex(declared=declared) if declared else NO_LINKS
    return LinkIndex(by_topic=_by_topic(current), declared=declared)


def _by_topic(current: ClusterState) -> Mapping[str, tuple[LocalName, ...]]:
    pairs = (
        (link.topic, LocalName(found.name, link.name))
        for found in current.virtual_clusters.values()
        for link in found.links.values()
    )
    return group(pairs)


def group(pairs: Iterable[tuple[str, LocalName]]) -> Mapping[str, tuple[LocalName, ...]]:
    """Local names by the physical topic, each list in order."""
    grouped: dict[str, list[LocalName]] = {}
    for topic, local in pairs:
        grouped.setdefault(topic, []).append(local)
    return {topic: tuple(sorted(locals_)) for topic, locals_ in grouped.items()}
