"""Where the links of every virtual cluster lead once a plan's changes are applied."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import AlterVirtualClusterRequest, CreateTopicRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan.document.plan import Change
from kgitops.plan.link_index import group

_NONE: Mapping[str, str | LocalName | None] = {}


class LinksAfter:
    """Links by virtual cluster and name; a topic that is yet to be made has no name to lead to."""

    def __init__(self, current: ClusterState, changes: Iterable[Change]) -> None:
        self._links: dict[str, dict[str, str | LocalName | None]] = {
            found.name: {link.name: link.topic for link in found.links.values()}
            for found in current.virtual_clusters.values()
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
        """Link name to physical topic; None: the topic is yet to be made."""
        links = self._links.get(virtual_cluster, _NONE)
        return {name: self._topic(topic) for name, topic in links.items()}

    def of_one(self, virtual_cluster: str, name: str) -> str | None:
        """Where one link leads; None: nowhere, or to what is yet to be made."""
        return self._topic(self._links.get(virtual_cluster, _NONE).get(name))

    def to(self, topic: str) -> tuple[LocalName, ...]:
        """The links that lead to the physical topic, in order."""
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
        while isinstance(topic, LocalName):
            topic = self._links.get(topic.virtual_cluster, _NONE).get(topic.name)
        return topic
