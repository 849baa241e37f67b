"""The cluster as it would be after the requests accepted so far; only the judge writes to it."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar, overload

from kgitops.model.acls import AclBinding
from kgitops.model.cluster_state import ClusterState
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.model.requests import (
    NEW_UUID,
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    AlterVirtualClusterRequest,
    CopyGroupOffsetsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    Request,
)
from kgitops.model.topics import RequestedTopicState, TopicState
from kgitops.model.virtual_clusters import name_until_made
from kgitops.policy.virtual_clusters import VirtualClusters

V = TypeVar("V", str, float)


class World:
    """What a cluster holds, by keys, and the sums that policies ask for again and again."""

    def __init__(self, state: ClusterState) -> None:
        self.brokers = state.brokers
        self.broker_defaults = state.broker_defaults
        self.topics: dict[str, TopicState] = dict(state.topics)
        self.acls: set[AclBinding] = set(state.acls)
        self.quotas: dict[ClientQuotaEntity, Mapping[str, float]] = {
            entity: held.quotas for entity, held in state.quotas.items()
        }
        self.virtual_clusters = VirtualClusters(state.virtual_clusters)
        self.topic_count = sum(not topic.internal for topic in self.topics.values())
        # Partitions by prefix of a topic's name, for the prefixes that were asked for.
        self._partitions: dict[str, int] = {}
        # Of the requests accepted so far: a policy may ask how many deletions there were.
        self.deleted_topics: frozenset[str] = frozenset()
        self.version = 0

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics, internal ones left out, whose name begins so."""
        if prefix not in self._partitions:
            self._partitions[prefix] = sum(
                topic.num_partitions
                for name, topic in self.topics.items()
                if name.startswith(prefix) and not topic.internal
            )
        return self._partitions[prefix]

    def accept(self, request: Request) -> None:
        """What the request leaves behind."""
        self.version += 1
        match request:
            case CreateTopicRequest(local=local) if local is not None:
                topic = as_current(request.requested_state)
                if topic.name.startswith(NEW_UUID):
                    topic = replace(topic, name=name_until_made(local))
                self._put(topic)
                self.virtual_clusters.linked(local, topic.name)
            case CreateTopicRequest() | AlterTopicRequest():
                self._put(as_current(request.requested_state))
            case DeleteTopicRequest():
                self._remove(request.topic)
                self.deleted_topics |= {request.topic}
            case CreateAclRequest():
                self.acls.add(request.binding)
            case DeleteAclRequest():
                self.acls.discard(request.binding)
            case AlterClientQuotaRequest():
                after = overlaid(self.quotas.get(request.entity, {}), request.quotas)
                if after:
                    self.quotas[request.entity] = after
                else:
                    self.quotas.pop(request.entity, None)
            case (
                CreateVirtualClusterRequest()
                | AlterVirtualClusterRequest()
                | DeleteVirtualClusterRequest()
            ):
                self.virtual_clusters.accept(request)
            case (
                DeleteRecordsRequest()
                | AlterBrokerRequest()
                | CopyGroupOffsetsRequest()
                | DeleteGroupRequest()
            ):
                pass  # none is part of what policies see of a cluster

    def _put(self, topic: TopicState) -> None:
        self._remove(topic.name)
        self.topics[topic.name] = topic
        self._count(topic, 1)

    def _remove(self, name: str) -> None:
        before = self.topics.pop(name, None)
        if before is not None:
            self._count(before, -1)

    def _count(self, topic: TopicState, sign: int) -> None:
        if topic.internal:
            return
        self.topic_count += sign
        for prefix in self._partitions:
            if topic.name.startswith(prefix):
                self._partitions[prefix] += sign * topic.num_partitions


def as_current(requested: RequestedTopicState) -> TopicState:
    """The topic as it is once the request was carried out."""
    return TopicState(
        name=requested.name,
        topic_id=requested.topic_id,
        assignment=requested.assignment,
        configs=requested.configs,
        marked_for_deletion=requested.marked_for_deletion,
    )


def overlaid(before: Mapping[str, V], requested: Mapping[str, V | None]) -> dict[str, V]:
    """Configs or quotas overlaid by what is requested; None removes a key (P201-25, P201-27)."""
    merged = {**before, **requested}
    return {key: value for key, value in merged.items() if value is not None}


@overload
def read_only(topic: RequestedTopicState) -> RequestedTopicState: ...


@overload
def read_only(topic: TopicState) -> TopicState: ...


def read_only(topic: TopicState) -> TopicState:
    """The topic such that whoever gets it can't change what it holds (P201-21)."""
    # Written out, as dataclasses.replace takes three times as long, and this is done per request.
    if isinstance(topic, RequestedTopicState):
        return RequestedTopicState(
            name=topic.name,
            topic_id=topic.topic_id,
            assignment=topic.assignment,
            configs=MappingProxyType(topic.configs),
            marked_for_deletion=topic.marked_for_deletion,
            reassigning=topic.reassigning,
            requested_configs=MappingProxyType(topic.requested_configs),
            generated_replica_assignments=topic.generated_replica_assignments,
        )
    return TopicState(
        name=topic.name,
        topic_id=topic.topic_id,
        assignment=topic.assignment,
        configs=MappingProxyType(topic.configs),
        marked_for_deletion=topic.marked_for_deletion,
        reassigning=topic.reassigning,
    )
