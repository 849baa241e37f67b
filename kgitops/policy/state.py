"""The cluster as it would be after the requests accepted so far; only evaluators write to it.

Its objects may lie in files: a part is read when a policy first asks for it (``LazyPart``).
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Protocol, TypeVar, overload, runtime_checkable

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, altered_user
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.users import ScramIterations
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    placeholder_topic_name,
)
from kgitops.model.values import overlaid
from kgitops.virtual_clusters.image import VirtualClustersDelta, build_image
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

ReadingScope = Callable[[], AbstractContextManager[None]]
K = TypeVar("K")
V = TypeVar("V")


@runtime_checkable
class SupportsTopicSums(Protocol):
    """Implemented by a mapping of topics that knows these sums without a look at its values."""

    def topic_count(self) -> int:
        """The number of topics, without internal ones."""
        ...

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics whose name begins with ``prefix``, without internal ones."""
        ...

    def marked_for_deletion(self) -> frozenset[str]:
        """The names of the topics that are marked for deletion."""
        ...


@runtime_checkable
class LazyPart(Protocol):
    """Implemented by a part of a state that is read from files at its first use.

    A policy waits for the reading but is not held responsible for it: each reading is done within
    ``scope``. If it fails, the caller gets the error, and ``failure`` keeps it even if a policy
    catches it.
    """

    @property
    def failure(self) -> KgitopsError | None:
        """The error of a failed reading; None before the reading and after a successful one."""
        ...

    def load_within(self, scope: ReadingScope) -> None:
        """Do each piece of reading within ``scope`` from now on."""
        ...


def lazy_parts(state: ClusterState) -> tuple[LazyPart, ...]:
    """The parts of ``state`` that are read at their first use."""
    parts = (state.topics, state.acls, state.quotas)
    return tuple(part for part in parts if isinstance(part, LazyPart))


def count_topics(topics: Mapping[str, TopicState]) -> int:
    """The number of topics, without internal ones."""
    if isinstance(topics, SupportsTopicSums):
        return topics.topic_count()
    return len(topics) - sum(name in topics for name in ALL_INTERNAL)


def count_partitions(topics: Mapping[str, TopicState], prefix: str) -> int:
    """The partitions of all topics whose name begins with ``prefix``, without internal ones."""
    if isinstance(topics, SupportsTopicSums):
        return topics.partitions(prefix)
    internal = (topics[name] for name in ALL_INTERNAL if name.startswith(prefix) and name in topics)
    # To ask each of a hundred thousand if it is internal takes longer than to add it.
    counts = (len(topic.assignment) for name, topic in topics.items() if name.startswith(prefix))
    return sum(counts) - sum(topic.num_partitions for topic in internal)


def topics_marked_for_deletion(topics: Mapping[str, TopicState]) -> frozenset[str]:
    """The names of the topics that are marked for deletion."""
    if isinstance(topics, SupportsTopicSums):
        return topics.marked_for_deletion()
    return frozenset(name for name, topic in topics.items() if topic.marked_for_deletion)


class Overlay(Mapping[K, V]):
    """``base`` with keys put and removed since; keys that were put come last."""

    def __init__(self, base: Mapping[K, V]) -> None:
        self._base = base
        self._put: dict[K, V] = {}
        self._touched: set[K] = set()

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self.remove(key)
        self._put[key] = value

    def remove(self, key: K) -> None:
        """Remove the key, if it is there."""
        self._touched.add(key)
        self._put.pop(key, None)

    def touched(self) -> Iterator[tuple[K, V | None, V | None]]:
        """Each key that was put or removed, with its value below and its value now."""
        return ((key, self._base.get(key), self._put.get(key)) for key in self._touched)

    def names(self) -> set[K]:
        """The keys, as a new set that the caller may change."""
        names = set(self._base)
        names -= self._touched
        names.update(self._put)
        return names

    def __getitem__(self, key: K) -> V:
        if key in self._touched:
            return self._put[key]
        return self._base[key]

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._base if key not in self._touched)
        yield from self._put

    def __len__(self) -> int:
        hidden = sum(key in self._base for key in self._touched)
        return len(self._base) - hidden + len(self._put)


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


class SimulatedState:
    """The objects of a cluster by their keys, and the sums that policies ask for most.

    The state may be large: it is never copied, and walked through only where a policy asks for it.
    """

    def __init__(self, state: ClusterState) -> None:
        self.brokers = state.brokers
        self.broker_defaults = state.broker_defaults
        self.topics = Overlay(state.topics)
        self.virtual_clusters = VirtualClusters(state.virtual_clusters)
        # By the requests accepted so far: a policy may ask for the number of deletions.
        self.deleted_topics: frozenset[str] = frozenset()
        self.version = 0
        self._state = state
        self._quotas = Overlay(state.quotas)
        self._users: Mapping[str, ScramIterations] = state.users or {}
        # Added and removed since the state; and the state with both applied, once it was asked for.
        self._added: set[AclBinding] = set()
        self._removed: set[AclBinding] = set()
        self._acls: frozenset[AclBinding] | None = None
        # Partitions by prefix of a topic's name, for the prefixes that were asked for.
        self._partitions: dict[str, int] = {}
        self._topic_count: int | None = None
        self._marked: frozenset[str] | None = None

    @property
    def topic_count(self) -> int:
        """The number of topics, without internal ones."""
        if self._topic_count is None:
            count = count_topics(self._state.topics)
            for _, before, now in self.topics.touched():
                count += _counts(now) - _counts(before)
            self._topic_count = count
        return self._topic_count

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics whose name begins with ``prefix``, without internal ones."""
        if prefix not in self._partitions:
            count = count_partitions(self._state.topics, prefix)
            for name, before, now in self.topics.touched():
                if name.startswith(prefix):
                    count += _partitions(now) - _partitions(before)
            self._partitions[prefix] = count
        return self._partitions[prefix]

    def topic_names(self, *, internal: bool, marked_for_deletion: bool) -> frozenset[str]:
        """The names of the topics; ``internal`` and ``marked_for_deletion`` include more."""
        names = self.topics.names()
        if not internal:
            names -= ALL_INTERNAL
        if not marked_for_deletion:
            names -= self._marked_topics()
        return frozenset(names)

    @property
    def acls(self) -> frozenset[AclBinding]:
        """All bindings."""
        if self._acls is None:
            held = frozenset(self._state.acls)
            if self._added or self._removed:
                held = (held - self._removed) | self._added
            self._acls = held
        return self._acls

    def quotas(self, entity: ClientQuotaEntity) -> Mapping[str, float]:
        """The quotas that are set on exactly this entity."""
        state = self._quotas.get(entity)
        return {} if state is None else state.quotas

    def credentials(self, user: str) -> ScramIterations:
        """The mechanisms of a user with their iterations, as far as the user is known."""
        return self._users.get(user, {})

    def accept(self, request: req.Request) -> None:
        """Change the state as the request would."""
        self.version += 1
        match request:
            case req.CreateTopicRequest(local=local) if local is not None:
                topic = request.requested_state.as_current()
                if topic.name.startswith(req.NEW_UUID):
                    topic = replace(topic, name=placeholder_topic_name(local))
                self._put(topic)
                self.virtual_clusters.linked(local, topic.name)
            case req.CreateTopicRequest() | req.AlterTopicRequest():
                self._put(request.requested_state.as_current())
            case req.DeleteTopicRequest():
                self._remove(request.topic)
                self.deleted_topics |= {request.topic}
            case req.CreateAclRequest():
                self._put_acl(request.binding, self._added, self._removed)
            case req.DeleteAclRequest():
                self._put_acl(request.binding, self._removed, self._added)
            case req.AlterClientQuotaRequest(entity=entity):
                after = overlaid(self.quotas(entity), request.quotas)
                if after:
                    self._quotas.put(entity, ClientQuotaState(entity=entity, quotas=after))
                else:
                    self._quotas.remove(entity)
            case (
                req.CreateVirtualClusterRequest()
                | req.AlterVirtualClusterRequest()
                | req.DeleteVirtualClusterRequest()
            ):
                self.virtual_clusters.accept(request)
            case req.AlterUserScramCredentialsRequest():
                held = altered_user(self._users.get(request.user, {}), request)
                self._users = {**self._users, request.user: held}
            case (
                req.DeleteRecordsRequest()
                | req.AlterBrokerRequest()
                | req.AlterConfigResourceRequest()
                | req.ConsumerGroupRequest()
                | req.CopyGroupOffsetsRequest()
                | req.DeleteGroupRequest()
            ):
                pass  # none changes anything that policies see of a cluster

    def _marked_topics(self) -> set[str]:
        if self._marked is None:
            self._marked = topics_marked_for_deletion(self._state.topics)
        marked = set(self._marked)
        for name, _, now in self.topics.touched():
            marked.discard(name)
            if now is not None and now.marked_for_deletion:
                marked.add(name)
        return marked

    def _put(self, topic: TopicState) -> None:
        self._count(topic.name, topic)
        self.topics.put(topic.name, topic)

    def _remove(self, name: str) -> None:
        self._count(name, None)
        self.topics.remove(name)

    def _count(self, name: str, after: TopicState | None) -> None:
        """Keep the sums that were asked for up to date; call it before the topic is changed."""
        if self._topic_count is None and not self._partitions:
            return
        before = self.topics.get(name)
        if self._topic_count is not None:
            self._topic_count += _counts(after) - _counts(before)
        for prefix in self._partitions:
            if name.startswith(prefix):
                self._partitions[prefix] += _partitions(after) - _partitions(before)

    def _put_acl(self, binding: AclBinding, to: set[AclBinding], away: set[AclBinding]) -> None:
        to.add(binding)
        away.discard(binding)
        self._acls = None


def _counts(topic: TopicState | None) -> int:
    """1 for a topic that counts in sums, 0 for an internal one and for none."""
    return 0 if topic is None or topic.internal else 1


def _partitions(topic: TopicState | None) -> int:
    """The topic's partitions, 0 for an internal one and for none."""
    return 0 if topic is None or topic.internal else topic.num_partitions


@overload
def read_only(topic: RequestedTopicState) -> RequestedTopicState: ...


@overload
def read_only(topic: TopicState) -> TopicState: ...


def read_only(topic: TopicState) -> TopicState:
    """A read-only view of the topic (P201-21)."""
    # Written out: dataclasses.replace takes three times as long, and this is done per request.
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
