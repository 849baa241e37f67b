"""``kind: Topic``: its partitions, replicas, configs and records, as documents declare them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Annotated, Literal

from kgitops.desired.configs import check_min_insync_replicas
from kgitops.desired.expansion import ExpandedTopic, TopicValues
from kgitops.desired.findings import Findings, Path, counted
from kgitops.kinds.base import ObjectKind, Steps
from kgitops.kinds.exports import Exporting, Item
from kgitops.kinds.topics.alter import delete_request, plan_alteration, refuse_records
from kgitops.kinds.topics.configs import config_conflicts
from kgitops.kinds.topics.exported import export_topics
from kgitops.kinds.topics.replicas import add_throttles, plan_replicas, shown_broker
from kgitops.kinds.topics.shown import defaults_shown, shown_topic
from kgitops.manifests.kinds.fields import (
    MAX_INT64,
    Amounts,
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
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import ConfigsPolicy, DeletionPolicy, DesiredTopic
from kgitops.model.registry import Owner
from kgitops.model.requests import CreateTopicRequest, Request
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import (
    REGISTRY_TOPIC,
    collision_key,
    is_internal,
    topic_name_problem,
)
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Action, Basis, Change
from kgitops.plan.normal_form import topic_view
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.shown_values import Shown, Surroundings
from kgitops.plan.usage import measured

NO_NAMES: Mapping[str, str] = {}


def build_topic(topic: ExpandedTopic, document: Document, findings: Findings) -> DesiredTopic:
    """Build the topic in normal form; problems that Kafka would refuse go to ``findings``."""
    name, spec, configs = topic.metadata.name, topic.spec, topic.configs
    _check_name(name, document, findings)
    _check_size(spec, document, findings)
    assignment = _assignment(spec, document, findings)
    if assignment is None:
        partitions, replication_factor = spec.partitions or 1, spec.replication_factor or 1
    else:
        partitions, replication_factor = len(assignment), len(assignment[0])
    desired = DesiredTopic(
        address=topic_address(name),
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        assignment=assignment,
        configs=configs.read(spec.configs, document) if spec.configs else {},
        delete_records_before=spec.delete_records_before,
        deletion_policy=DeletionPolicy(spec.deletion_policy or "Protect"),
        deletion_policy_written=spec.deletion_policy is not None,
        configs_policy=ConfigsPolicy(spec.configs_policy),
        labels=topic.metadata.labels,
        located=document,
    )
    if desired.configs:
        configs.check_together(desired.configs, document)
        check_min_insync_replicas(desired.configs, desired.replication_factor, document, findings)
    if desired.delete_records_before:
        _check_delete_records(desired, document, findings)
    return desired


def _check_name(name: str, document: Document, findings: Findings) -> None:
    if problem := topic_name_problem(name):
        advice = "use up to 249 letters, digits, '.', '_' and '-'"
        findings.error(document, ("metadata", "name"), problem, advice)
    elif is_internal(name):
        owner = "kgitops keeps its registry in it" if name == REGISTRY_TOPIC else "brokers own it"
        findings.error(
            document,
            ("metadata", "name"),
            f"the topic {name} can't be declared: {owner}",
            "remove the document",
        )


def _check_size(spec: TopicValues, document: Document, findings: Findings) -> None:
    counts = (spec.partitions, spec.replication_factor)
    names = ("partitions", "replicationFactor")
    if spec.assignments is not None:
        for name, count in zip(names, counts, strict=True):
            if count is not None:
                findings.error(
                    document,
                    ("spec", name),
                    f"spec.{name} can't be combined with spec.assignments, which decides it",
                    "remove one of them",
                    key=True,
                )
    elif counts == (None, None):
        findings.error(
            document,
            ("spec",),
            "the topic has no size",
            "write spec.partitions and spec.replicationFactor, or spec.assignments, or a profile",
        )
    elif None in counts:
        there, missing = names if counts[1] is None else reversed(names)
        findings.error(
            document,
            ("spec", there),
            f"spec.{there} needs spec.{missing} as well",
            f"add spec.{missing}",
            key=True,
        )


def _assignment(spec: TopicValues, document: Document, findings: Findings) -> Assignment | None:
    """Return the assignment if one is declared and legal (A4-45)."""
    assignments = spec.assignments
    if assignments is None:
        return None
    if not assignments:
        findings.error(
            document, ("spec", "assignments"), "spec.assignments is empty", "assign partition 0"
        )
        return None
    before = len(findings.found)
    missing = next(number for number in range(len(assignments) + 1) if number not in assignments)
    if missing < len(assignments):
        findings.error(
            document,
            ("spec", "assignments"),
            f"spec.assignments has {len(assignments)} partitions but none with the id {missing}",
            "number the partitions from 0 without a gap",
        )
    size = len(next(iter(assignments.values())))
    for partition, replicas in assignments.items():
        problem = _replicas_problem(partition, replicas, size)
        if problem:
            findings.error(document, ("spec", "assignments", partition), *problem)
    if len(findings.found) > before:
        return None
    return tuple(tuple(assignments[partition]) for partition in range(len(assignments)))


def _replicas_problem(partition: int, replicas: list[int], size: int) -> tuple[str, str] | None:
    if not replicas:
        return f"partition {partition} has no replicas", "name at least one broker"
    twice = next((broker for broker in replicas if replicas.count(broker) > 1), None)
    if twice is not None:
        return f"partition {partition} names broker {twice} twice", "name each broker once"
    if len(replicas) != size:
        return (
            f"partition {partition} has {counted(len(replicas), 'replica')}, another has {size}",
            "give every partition the same number of replicas",
        )
    return None


def _check_delete_records(topic: DesiredTopic, document: Document, findings: Findings) -> None:
    for partition in topic.delete_records_before:
        if partition >= topic.partitions:
            findings.error(
                document,
                ("spec", "deleteRecordsBefore", partition),
                f"the topic has no partition {partition}: it has {topic.partitions}",
                "remove the line",
                key=True,
            )
    policy = topic.configs.get("cleanup.policy", "delete")
    if "delete" not in policy.split(","):
        findings.error(
            document,
            ("spec", "deleteRecordsBefore"),
            f"Kafka deletes no records of a topic whose cleanup.policy is {policy or 'empty'}",
            "remove deleteRecordsBefore, or add delete to cleanup.policy",
            key=True,
        )


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
        self._names = {collision_key(name): name for name in sorted(context.current.topics)}

    def existing(self) -> Iterable[str]:
        """Return the addresses of all topics but internal ones."""
        return (topic_address(it.name) for it in self.current.topics.values() if not it.internal)

    def plan_one(self, item: DesiredTopic) -> None:
        """Create the topic, or alter it."""
        plan_topic(self.context, item, self.current.topics.get(item.name), item.name, self._names)

    def remove_one(self, removal: Removal) -> None:
        """Delete the topic, unless it was re-created."""
        context, name = self.context, removal.owner.last_applied["name"]
        state = context.current.topics.get(name)
        if is_being_deleted(context, removal.address, state):
            return
        deletes = removal.kind is RemovalKind.DELETE and is_same_topic(removal.owner, state)
        remove(
            context,
            removal,
            Kind.TOPIC,
            [delete_request(state)] if deletes and state else (),
            before=topic_view(state) if state else None,
            topic_id=state.topic_id if state else None,
            basis=Basis(measured=measured(context.current.usage.get(name))) if state else Basis(),
        )

    def complete(self) -> None:
        """Limit the rate at which brokers copy the replicas that move."""
        context = self.context
        rate = context.desired.safety.replication_throttle
        add_throttles(context.draft, self.current, rate, context.stale_throttles.brokers)

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase."""
        if Action.DELETE in change.actions:
            return Phase.TOPIC_DELETE
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
    def written_at(cls, item: DesiredTopic, steps: Steps) -> Iterable[Path]:
        """Return the place of the value; an assignment says both counts, too."""
        if item.assignment and steps[0] in ("partitions", "replicationFactor"):
            return [("spec", "assignments")]
        return super().written_at(item, steps)

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each topic but internal ones, by physical name."""
        for name, topic in sorted(current.topics.items()):
            if not is_internal(name):
                requested = RequestedTopicState(
                    name=name,
                    topic_id=None,
                    assignment=topic.assignment,
                    configs=topic.configs,
                    requested_configs=dict(topic.configs),
                )
                yield CreateTopicRequest(topic=name, requested_state=requested)

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every topic that the project may declare."""
        return export_topics(of)


def plan_topic(
    context: PlanContext,
    topic: DesiredTopic,
    state: TopicState | None,
    name: str,
    names: Mapping[str, str] = NO_NAMES,
    first: Sequence[Request] = (),
) -> None:
    """Create the topic under this physical name, or alter it; some requests may come ``first``.

    A new name must not collide with one of ``names``, which are by ``collision_key``.
    """
    if is_being_deleted(context, topic.address, state):
        return
    if state is not None:
        plan_alteration(context, topic, state, first)
    elif _creatable(context, topic, names):
        _create(context, topic, name)


def is_being_deleted(context: PlanContext, address: str, state: TopicState | None) -> bool:
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


def _creatable(context: PlanContext, topic: DesiredTopic, names: Mapping[str, str]) -> bool:
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


def _create(context: PlanContext, topic: DesiredTopic, name: str) -> None:
    replicas = plan_replicas(context, topic, None)
    conflicts = config_conflicts(topic, topic.configs, {}, context.current.broker_defaults)
    context.stop(topic.address, *conflicts)
    if replicas is None or conflicts:
        return
    state = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=replicas.final,
        configs=topic.configs,
        requested_configs=topic.configs,
        generated_replica_assignments=topic.assignment is None,
    )
    context.change(topic, Kind.TOPIC, [CreateTopicRequest(topic=name, requested_state=state)])


def is_same_topic(owner: Owner, state: TopicState | None) -> bool:
    """Return whether the topic is the applied one; a re-created one is unmanaged, and stays."""
    return state is not None and state.topic_id is not None and state.topic_id == owner.topic_id
