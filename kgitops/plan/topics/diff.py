"""Plans topics: compares the declared ones with those on the cluster."""

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredTopic
from kgitops.model.registry import Owner
from kgitops.model.requests import NEW_UUID, CreateTopicRequest
from kgitops.model.resources.addresses import topic_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import generated_topic_name
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext, local_name
from kgitops.plan.document.plan import Basis
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import topic_view
from kgitops.plan.ownership import Ownership
from kgitops.plan.removal import Removal, RemovalKind, find_removals, remove
from kgitops.plan.stale_throttles import NO_STALE_THROTTLES, StaleThrottles
from kgitops.plan.topics.alter import plan_alteration
from kgitops.plan.topics.configs import config_conflicts
from kgitops.plan.topics.local_topic_removal import remove_local
from kgitops.plan.topics.local_topics import LocalTopics
from kgitops.plan.topics.records import refuse_records
from kgitops.plan.topics.replicas import plan_replicas
from kgitops.plan.topics.steps import delete_request
from kgitops.plan.usage import measured


def plan_topics(
    desired: DesiredState,
    current: ClusterState,
    ownership: Ownership,
    stale_throttles: StaleThrottles = NO_STALE_THROTTLES,
) -> PlanDraft:
    """Plan every difference between the declared topics and the cluster's."""
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        stale_throttles=stale_throttles,
        links=index_links(desired, current),
    )
    local = LocalTopics(context)
    names = {collision_key(name): name for name in sorted(current.topics)}
    for topic in desired.of(DesiredTopic):
        if not context.may_plan(topic):
            continue
        if topic.virtual_cluster is not None:
            _plan_local(local, topic, topic.virtual_cluster)
            continue
        state = current.topics.get(topic.name)
        if _is_being_deleted(context, topic.address, state):
            continue
        if state is not None:
            plan_alteration(context, topic, state)
        elif _creatable(context, topic, names):
            _create(context, topic)
    declared = frozenset(topic.address for topic in desired.of(DesiredTopic))
    for removal in find_removals(("topic",), declared, context):
        if "virtualCluster" in removal.owner.last_applied:
            remove_local(local, removal)
        else:
            _remove(context, removal)
    physical_names = (state.name for state in current.topics.values() if not state.internal)
    behind = local.addresses(declared)
    listed = (behind.get(name) or topic_address(name) for name in physical_names)
    context.keep_others(dict.fromkeys(listed), declared)
    return context.draft


def _plan_local(local: LocalTopics, topic: DesiredTopic, virtual_cluster: str) -> None:
    """Plan a topic of a virtual cluster, which is found by its link."""
    context = local.context
    source = topic.located.at("metadata", "virtualCluster")
    if not context.has_virtual_cluster(virtual_cluster, source, topic.address):
        return
    current = local.find(topic)
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
