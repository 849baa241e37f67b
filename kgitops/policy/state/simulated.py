"""The cluster as it would be after the requests accepted so far; only evaluators write to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import overload

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState, altered_user
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.users import ScramIterations
from kgitops.model.resources.virtual_clusters import placeholder_topic_name
from kgitops.model.values import overlaid
from kgitops.policy.state.lazy_state import (
    Overlay,
    count_partitions,
    count_topics,
    topics_marked_for_deletion,
)
from kgitops.policy.state.virtual_clusters import VirtualClusters


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
