"""Topic links by the topic that they lead to: as they are, and as a plan leaves them."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct, field

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredVirtualCluster
from kgitops.model.requests import AlterVirtualClusterRequest, CreateTopicRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan.document.plan import Change


class LinkIndex(Struct, frozen=True):
    """The links to each physical topic; ``declared`` are virtual clusters that a plan creates."""

    by_topic: Mapping[str, tuple[LocalName, ...]] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

    def to(self, topic: str) -> tuple[LocalName, ...]:
        """Return the links that lead to the physical topic, in order."""
        return self.by_topic.get(topic, ())

    def affected(self, topic: str, *, besides: LocalName | None) -> tuple[str, ...]:
        """Return the other links that a change of the topic affects, for its impact (VC-036)."""
        return tuple(str(local) for local in self.to(topic) if local != besides)


NO_LINKS = LinkIndex()


def index_links(desired: DesiredState, current: ClusterState) -> LinkIndex:
    """Index the links on the cluster, and the declared virtual clusters that are selected."""
    scope = desired.scope
    declared = frozenset(
        item.name
        for item in desired.of(DesiredVirtualCluster)
        if item.address not in scope.excludes
        and (not scope.targets or item.address in scope.targets)
    )
    if not current.virtual_clusters:
        return LinkIndex(declared=declared) if declared else NO_LINKS
    return LinkIndex(by_topic=_by_topic(current), declared=declared)


def _by_topic(current: ClusterState) -> Mapping[str, tuple[LocalName, ...]]:
    pairs = (
        (link.topic, LocalName(virtual_cluster.name, link.name))
        for virtual_cluster in current.virtual_clusters.values()
        for link in virtual_cluster.links.values()
    )
    return group(pairs)


def group(pairs: Iterable[tuple[str, LocalName]]) -> Mapping[str, tuple[LocalName, ...]]:
    """Group local names by their physical topic, each group in order."""
    grouped: dict[str, list[LocalName]] = {}
    for topic, local in pairs:
        grouped.setdefault(topic, []).append(local)
    return {topic: tuple(sorted(locals_)) for topic, locals_ in grouped.items()}


_NONE: Mapping[str, str | LocalName | None] = {}


class PlannedLinks:
    """The links of every virtual cluster once a plan's changes are applied.

    A topic that is yet to be created has no physical name to lead to.
    """

    def __init__(self, current: ClusterState, changes: Iterable[Change]) -> None:
        self._links: dict[str, dict[str, str | LocalName | None]] = {
            virtual_cluster.name: {link.name: link.topic for link in virtual_cluster.links.values()}
            for virtual_cluster in current.virtual_clusters.values()
        }
        for change in changes:
            for planned in change.requests:
                match planned.request:
                    case CreateTopicRequest(local=local) if local:
                        self._of(local.virtual_cluster)[local.name] = None
                    case AlterVirtualClusterRequest(entity_type=EntityType.TOPIC) as request:
                        self._alter(request)
                    case _:
                        pass

    def of(self, virtual_cluster: str) -> Mapping[str, str | None]:
        """Return the physical topic of each link; None if the topic is yet to be created."""
        links = self._links.get(virtual_cluster, _NONE)
        return {name: self._topic(topic) for name, topic in links.items()}

    def of_one(self, virtual_cluster: str, name: str) -> str | None:
        """Return the physical topic of one link; None if there is none, or none yet."""
        return self._topic(self._links.get(virtual_cluster, _NONE).get(name))

    def to(self, topic: str) -> tuple[LocalName, ...]:
        """Return the links that lead to the physical topic, in order."""
        return self._by_topic.get(topic, ())

    @cached_property
    def _by_topic(self) -> Mapping[str, tuple[LocalName, ...]]:
        return group(
            (topic, LocalName(at, name))
            for at in self._links
            for name, topic in self.of(at).items()
            if topic is not None
        )

    def _of(self, virtual_cluster: str) -> dict[str, str | LocalName | None]:
        return self._links.setdefault(virtual_cluster, {})

    def _alter(self, request: AlterVirtualClusterRequest) -> None:
        links, name = self._of(request.virtual_cluster), request.entity_name or ""
        if request.change is ChangeType.REMOVE:
            links.pop(name, None)
        else:
            links[name] = request.topic or request.target

    def _topic(self, topic: str | LocalName | None) -> str | None:
        seen: set[LocalName] = set()
        while isinstance(topic, LocalName) and topic not in seen:
            seen.add(topic)
            topic = self._links.get(topic.virtual_cluster, _NONE).get(topic.name)
        return None if isinstance(topic, LocalName) else topic
