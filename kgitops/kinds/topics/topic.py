"""``kind: Topic``: its partitions, replicas, configs and records."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Annotated, Literal

from kgitops.desired.expansion.expansion import ExpandedTopic
from kgitops.desired.findings import Findings
from kgitops.kinds.base import ObjectKind
from kgitops.kinds.exports import Exporting, Item
from kgitops.kinds.topics.alter import plan_alteration, refuse_records
from kgitops.kinds.topics.configs import config_conflicts
from kgitops.kinds.topics.declared import build_topic
from kgitops.kinds.topics.exported import export_topics
from kgitops.kinds.topics.local_topic_removal import remove_local
from kgitops.kinds.topics.local_topics import LocalTopics
from kgitops.kinds.topics.replicas import plan_replicas
from kgitops.kinds.topics.shown import defaults_shown, shown_topic
from kgitops.kinds.topics.steps import delete_request
from kgitops.kinds.topics.throttles import add_throttles, shown_broker
from kgitops.manifests.kinds.amounts import Amounts
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    BrokerId,
    IntKeys,
    IntRange,
    NotNull,
    PartitionId,
    Text,
    manifest,
)
from kgitops.manifests.kinds.parts import TopicMetadata
from kgitops.manifests.kinds.topic_profile import ConfigValue
from kgitops.manifests.yaml.document import Document
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.registry import Owner
from kgitops.model.requests import NEW_UUID, CreateTopicRequest
from kgitops.model.resources.addresses import split_scoped_address, topic_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import generated_topic_name
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext, local_name
from kgitops.plan.document.plan import Action, Basis, Change
from kgitops.plan.draft import PlanDraft
from kgitops.plan.normal_form import topic_view
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.shown.values import Shown, Surroundings
from kgitops.plan.usage import measured


@manifest
class TopicSpec:
    """A topic: either partitions and replicationFactor, or assignments."""

    profile: Annotated[Text | None, NotNull()] = None
    """The TopicProfile that gives the values which are not written here."""
    partitions: Annotated[int | None, IntRange(1)] = None
    """The number of partitions; Kafka can add partitions but never remove one."""
    replication_factor: Annotated[int | None, IntRange(1, 32767)] = None
    """The number of replicas of each partition."""
    assignments: Annotated[dict[PartitionId, list[BrokerId]] | None, IntKeys()] = None
    """Partition id to the brokers of its replicas, the preferred leader first; instead of
    partitions and replicationFactor."""
    configs: Annotated[dict[str, ConfigValue | None], Amounts()] = field(default_factory=dict)
    """Kafka's topic configs by their own names, such as retention.ms; null removes a key that the
    profile or a default gives."""
    configs_policy: Annotated[Literal["Declared", "Exact"] | None, NotNull()] = None
    """Declared (the default) leaves config keys that no manifest declares as they are; Exact
    removes them."""
    delete_records_before: Annotated[
        dict[PartitionId, Annotated[int, IntRange(0, MAX_INT64, 1500)]], IntKeys()
    ] = field(default_factory=dict)
    """Partition id to an offset: records below it are deleted."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Protect (the default) refuses the plan, Delete deletes
    the topic, Orphan leaves it on the cluster and forgets it. In a virtual cluster both remove the
    link, and Delete deletes the topic only if no other link leads to it."""
    share_with: list[Text] = field(default_factory=list)
    """Other virtual clusters that may link to this topic, if it is in a virtual cluster."""


@manifest
class Topic:
    """A topic.

    Example:
        apiVersion: kgitops/v1
        kind: Topic
        metadata:
          name: orders
          labels: {team: payments}
        spec:
          partitions: 6
          replicationFactor: 3
          configs:
            retention.ms: 604800000
            cleanup.policy: delete
          deletionPolicy: Protect
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["Topic"]
    """The kind of the document."""
    metadata: TopicMetadata
    """The metadata of the document."""
    spec: TopicSpec
    """The topic as it should be."""


class TopicKind(ObjectKind[DesiredTopic]):
    """The topics, and the throttles of brokers while replicas of topics move."""

    declares, files, phases = DesiredTopic, "topics", (Phase.TOPIC, Phase.TOPIC_DELETE)

    @classmethod
    def build(
        cls, declared: ExpandedTopic, document: Document, findings: Findings
    ) -> Sequence[DesiredTopic]:
        """Return the topic, with the values of its profile or the defaults."""
        return [build_topic(declared, document, findings)]

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        self._local = LocalTopics(context)
        self._names = {collision_key(name): name for name in sorted(context.current.topics)}

    def existing(self) -> Iterable[str]:
        """Return the addresses of all topics but internal ones, each by its declared name."""
        declared = frozenset(topic.address for topic in self.context.desired.of(DesiredTopic))
        behind = self._local.addresses(declared)
        for state in self.current.topics.values():
            if not state.internal:
                yield behind.get(state.name) or topic_address(state.name)

    def plan_one(self, item: DesiredTopic) -> None:
        """Create the topic, or alter it."""
        if item.virtual_cluster is not None:
            _plan_local(self._local, item)
            return
        context, state = self.context, self.current.topics.get(item.name)
        if _is_being_deleted(context, item.address, state):
            return
        if state is not None:
            plan_alteration(context, item, state)
        elif _creatable(context, item, self._names):
            _create(context, item)

    def remove_one(self, removal: Removal) -> None:
        """Delete the topic, unless it was re-created; in a virtual cluster remove its link."""
        if "virtualCluster" in removal.owner.last_applied:
            remove_local(self._local, removal)
        else:
            _remove(self.context, removal)

    def plan(self) -> PlanDraft:
        """Plan the topics, and limit the rate at which brokers copy the replicas that move."""
        draft, context = super().plan(), self.context
        rate = context.desired.safety.replication_throttle
        add_throttles(draft, self.current, rate, context.stale_throttles.brokers)
        return draft

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: a topic of a virtual cluster that is forgotten loses its link."""
        if Action.DELETE in change.actions:
            return Phase.TOPIC_DELETE
        if Action.FORGET in change.actions and split_scoped_address(change.address):
            # A topic of a virtual cluster that is forgotten is unlinked (contract, Removal).
            return Phase.LINK_REMOVE if change.requests else Phase.HANDED_OVER
        return Phase.TOPIC_CREATE if Action.CREATE in change.actions else Phase.TOPIC

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a topic, or of the throttle of a broker."""
        return shown_broker(change) if change.kind is Kind.BROKER else shown_topic(change, around)

    @classmethod
    def defaults_shown(cls, change: Change) -> frozenset[str]:
        """Return the configs whose defaults are shown of a topic, or that its risks rest on."""
        return frozenset() if change.kind is Kind.BROKER else defaults_shown(change)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every topic that the project may declare."""
        return export_topics(of)


def _plan_local(local: LocalTopics, topic: DesiredTopic) -> None:
    """Plan a topic of a virtual cluster, which is found by its link."""
    context, current = local.context, local.find(topic)
    if current is None or _is_being_deleted(context, topic.address, current.state):
        return
    if current.state is not None:
        plan_alteration(context, topic, current.state, current.relink)
    elif _creatable(context, topic, {}):
        _create(context, topic)


def _is_being_deleted(context: PlanContext, address: str, state: TopicState | None) -> bool:
    """Refuse to plan for a topic that is being deleted: its name may not be free in time."""
    going = state is not None and state.marked_for_deletion
    if going:
        context.stop(
            address,
            Finding(
                source=None,
                problem=f"{address} is being deleted by someone else just now",
                advice="wait until it is gone, then plan again",
            ),
        )
    return going


def _creatable(context: PlanContext, topic: DesiredTopic, names: dict[str, str]) -> bool:
    """Refuse a topic that CreateTopics would refuse, and one with records to delete."""
    other = names.get(collision_key(topic.name))
    if other is not None:
        context.stop(
            topic.address,
            Finding(
                source=topic.located.at("metadata", "name"),
                problem=f"the topic name {topic.name!r} collides with the topic {other!r} on the "
                "cluster, because Kafka's metrics read '.' and '_' alike",
                advice="use another name",
            ),
        )
        return False
    if topic.delete_records_before:
        if context.ownership.last_applied(topic.address).get("deleteRecordsBefore"):
            refuse_records(context, topic, None)
            return False
        context.stop(
            topic.address,
            Finding(
                source=topic.located.at("spec", "deleteRecordsBefore"),
                problem=f"the topic {topic.name!r} does not exist, so it has no records to delete",
                advice="remove deleteRecordsBefore",
            ),
        )
        return False
    return True


def _create(context: PlanContext, topic: DesiredTopic) -> None:
    replicas = plan_replicas(context, topic, None)
    conflicts = config_conflicts(topic, topic.configs, {}, context.current.broker_defaults)
    context.stop(topic.address, *conflicts)
    if replicas is None or conflicts:
        return
    local = local_name(topic)
    state = RequestedTopicState(
        name=generated_topic_name(NEW_UUID, topic.name) if local else topic.name,
        topic_id=None,
        assignment=replicas.final,
        configs=topic.configs,
        requested_configs=topic.configs,
        generated_replica_assignments=topic.assignment is None,
    )
    context.change(
        topic,
        Kind.TOPIC,
        [CreateTopicRequest(topic=state.name, requested_state=state, local=local)],
    )


def _remove(context: PlanContext, removal: Removal) -> None:
    name = removal.owner.last_applied["name"]
    state = context.current.topics.get(name)
    if _is_being_deleted(context, removal.address, state):
        return
    deletes = removal.kind is RemovalKind.DELETE and is_same_topic(removal.owner, state)
    remove(
        context,
        removal,
        Kind.TOPIC,
        [delete_request(state, None)] if deletes and state else (),
        before=topic_view(state) if state else None,
        topic_id=state.topic_id if state else None,
        basis=Basis(measured=measured(context.current.usage.get(name))) if state else Basis(),
    )


def is_same_topic(owner: Owner, state: TopicState | None) -> bool:
    """Return whether the topic is the applied one; a re-created one is unmanaged, and stays."""
    return state is not None and state.topic_id is not None and state.topic_id == owner.topic_id
