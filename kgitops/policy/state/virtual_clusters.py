"""The virtual clusters as they would be after the requests accepted so far."""

from collections.abc import Iterator, Mapping

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    placeholder_topic_name,
)
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

VirtualClusterRequest = (
    req.CreateVirtualClusterRequest
    | req.AlterVirtualClusterRequest
    | req.DeleteVirtualClusterRequest
)


class VirtualClusters:
    """The virtual clusters of a ``SimulatedState``.

    Only a cluster decides if a request can be carried out: here each counts as done, so that a
    policy sees the requested state even where the plan before it is incomplete.
    """

    def __init__(self, virtual_clusters: Mapping[str, VirtualCluster]) -> None:
        self._delta = VirtualClustersDelta(build_image(virtual_clusters.values()))
        self.names: set[str] = set(virtual_clusters)

    def get(self, name: str) -> VirtualCluster | None:
        """The virtual cluster after the accepted requests; None where there is none."""
        return self._delta.get(name)

    def of_user(self, principal: str) -> str | None:
        """The virtual cluster that the principal is a member of; None for none."""
        return self._delta.of_user(principal)

    def links_to(self, topic: str) -> frozenset[LocalName]:
        """The links that lead to the physical topic."""
        return self._delta.links_to(topic)

    def topic_of(self, local: LocalName) -> str:
        """The physical topic of a link; a placeholder where it is still to be created."""
        virtual_cluster = self.get(local.virtual_cluster)
        link = virtual_cluster.links.get(local.name) if virtual_cluster is not None else None
        return placeholder_topic_name(local) if link is None else link.topic

    def leads_to(self, request: req.AlterVirtualClusterRequest) -> str:
        """The physical topic of the link that a request is about."""
        if request.topic is not None:
            return request.topic
        return self.topic_of(
            request.target or LocalName(request.virtual_cluster, request.entity_name or "")
        )

    def linked(self, local: LocalName, topic: str) -> None:
        """Add the link of a topic that was created in a virtual cluster."""
        self._replay(
            VirtualClusterTopicLinkRecord(
                virtual_cluster=local.virtual_cluster, link_name=local.name, topic=topic
            )
        )

    def accept(self, request: VirtualClusterRequest) -> None:
        """Change the virtual clusters as the request would."""
        for record in self._records(request):
            self._replay(record)

    def _records(self, request: VirtualClusterRequest) -> Iterator[VirtualClusterMetadataRecord]:
        name = request.virtual_cluster
        if isinstance(request, req.DeleteVirtualClusterRequest):
            yield RemoveVirtualClusterRecord(name=name)
            return
        if request.options is not None:
            yield VirtualClusterRecord(name=name, options=request.options)
        if isinstance(request, req.AlterVirtualClusterRequest):
            yield from self._entity(request)

    def _entity(
        self, request: req.AlterVirtualClusterRequest
    ) -> Iterator[VirtualClusterMetadataRecord]:
        entity_type, name = request.entity_type, request.entity_name
        if entity_type is None or name is None:
            return
        remove = request.change is ChangeType.REMOVE
        if entity_type is EntityType.TOPIC:
            yield VirtualClusterTopicLinkRecord(
                virtual_cluster=request.virtual_cluster,
                link_name=name,
                topic=None if remove else self.leads_to(request),
            )
            return
        if request.moved_from is not None:
            yield VirtualClusterEntityRecord(
                virtual_cluster=request.moved_from,
                entity_type=entity_type,
                entity_name=name,
                remove=True,
            )
        yield VirtualClusterEntityRecord(
            virtual_cluster=request.virtual_cluster,
            entity_type=entity_type,
            entity_name=name,
            remove=remove,
            adopts=request.adopts,
        )

    def _replay(self, record: VirtualClusterMetadataRecord) -> None:
        if isinstance(record, VirtualClusterRecord | RemoveVirtualClusterRecord):
            name = record.name
        else:
            name = record.virtual_cluster
            if self._delta.get(name) is None:
                self._delta.put(VirtualCluster(name=name))
        self._delta.replay(record)
        if self._delta.get(name) is None:
            self.names.discard(name)
        else:
            self.names.add(name)
