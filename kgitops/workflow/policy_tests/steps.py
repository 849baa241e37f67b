"""Makes requests on the cluster, as it is then, of the steps that a test describes."""

from collections.abc import Mapping, Sequence

from kgitops.manifests.policies.policy_test import (
    AlterBrokerStep,
    AlterClientQuotaStep,
    AlterConfigResourceStep,
    AlterConsumerGroupOffsetsStep,
    AlterTopicStep,
    AlterUserStep,
    CreateTopicStep,
    DeleteConsumerGroupStep,
    DeleteRecordsStep,
    DeleteTopicStep,
    GivenAcl,
    RequestStep,
)
from kgitops.model import requests as req
from kgitops.model.placement import PlacementError
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.virtual_clusters import LocalName, generated_topic_name
from kgitops.model.wording import nearest
from kgitops.policy.building import grown, requested_topic
from kgitops.policy.state import SimulatedState
from kgitops.workflow.policy_tests.cases import (
    TOPIC_ID,
    StepError,
    binding_of,
    config_text,
    configs_of,
    entity_of,
    listed,
    quotas_of,
    topic_assignment,
)
from kgitops.workflow.policy_tests.virtual_cluster_steps import (
    local_name,
    require_virtual_cluster,
    virtual_cluster_request,
)


def request_of(step: RequestStep, simulated: SimulatedState) -> req.Request:
    """The request that the step is in ``simulated``.

    Raises:
        StepError: no such request can be made there.
    """
    return req.with_labels(_request(step, simulated), step.labels)


def _request(step: RequestStep, simulated: SimulatedState) -> req.Request:
    match step:
        case RequestStep(create_topic=CreateTopicStep() as create):
            return _create(create, simulated)
        case RequestStep(alter_topic=AlterTopicStep() as alter):
            return _alter(alter, simulated)
        case RequestStep(delete_topic=DeleteTopicStep() as delete):
            topic, local = _topic(delete.name, delete.virtual_cluster, simulated)
            return req.DeleteTopicRequest(topic=topic.name, topic_id=TOPIC_ID, local=local)
        case RequestStep(delete_records=DeleteRecordsStep() as delete):
            return _delete_records(delete, simulated)
        case RequestStep(alter_client_quota=AlterClientQuotaStep() as quota):
            entity = entity_of(quota.entity)
            return req.AlterClientQuotaRequest(
                entity=entity, quotas=quotas_of(entity, quota.quotas)
            )
        case RequestStep(alter_broker=AlterBrokerStep(id=id_, configs=configs)):
            _check_brokers([id_], simulated, ("id",))
            return req.AlterBrokerRequest(broker=id_, configs=_changed(configs))
        case RequestStep(alter_user_scram_credentials=AlterUserStep() as user):
            return _alter_user(user, simulated)
        case RequestStep(alter_config_resource=AlterConfigResourceStep() as resource):
            return req.AlterConfigResourceRequest(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=_changed(resource.configs),
            )
        case RequestStep(alter_consumer_group_offsets=AlterConsumerGroupOffsetsStep() as offsets):
            return req.AlterConsumerGroupOffsetsRequest(
                group=offsets.group,
                topics=tuple(
                    TopicOffsets(topic=topic, topic_id=TOPIC_ID, offsets=partitions)
                    for topic, partitions in offsets.offsets.items()
                ),
            )
        case RequestStep(delete_consumer_group=DeleteConsumerGroupStep(group=group)):
            return req.DeleteConsumerGroupRequest(group=group)
        case RequestStep(create_acl=GivenAcl() as acl):
            return req.CreateAclRequest(binding=binding_of(acl))
        case RequestStep(delete_acl=GivenAcl() as acl):
            return req.DeleteAclRequest(binding=binding_of(acl))
        case _:
            return virtual_cluster_request(step, simulated.virtual_clusters, simulated.topics)


def broker_configs_of(step: RequestStep) -> Mapping[str, str] | None:
    """The configs that the broker of an AlterBroker has; None for other requests."""
    return None if step.alter_broker is None else configs_of(step.alter_broker.current)


def _alter_user(step: AlterUserStep, simulated: SimulatedState) -> req.Request:
    if step.iterations is None and step.mechanism not in simulated.credentials(step.name):
        raise StepError(
            ("mechanism",),
            f"the user {step.name} has no {step.mechanism} at this point",
            "add it to the cluster's users, or set it before",
        )
    return req.AlterUserScramCredentialsRequest(
        user=step.name, mechanism=step.mechanism, iterations=step.iterations
    )


def _create(step: CreateTopicStep, simulated: SimulatedState) -> req.Request:
    if problem := topic_name_problem(step.name):
        raise StepError(("name",), problem, "correct the name")
    local = local_name(step.virtual_cluster, step.name, simulated.virtual_clusters)
    taken = step.name in simulated.topics
    if local is not None:
        taken = (
            local.name
            in require_virtual_cluster(simulated.virtual_clusters, local.virtual_cluster).links
        )
    if taken:
        raise StepError(
            ("name",),
            f"the topic {step.name} is there already",
            "create another one, or alter it with alterTopic",
        )
    assignment, generated = topic_assignment(step, step.name, simulated.brokers)
    for partition, replicas in enumerate(assignment):
        _check_brokers(replicas, simulated, ("assignments", partition))
    name = step.name if local is None else generated_topic_name(req.NEW_UUID, step.name)
    new = TopicState(name=name, topic_id=None, assignment=assignment)
    state = requested_topic(new, configs_of(step.configs), generated=generated)
    return req.CreateTopicRequest(topic=name, requested_state=state, local=local)


def _delete_records(step: DeleteRecordsStep, simulated: SimulatedState) -> req.Request:
    topic, local = _topic(step.name, step.virtual_cluster, simulated)
    _check_partitions(topic, step.offsets)
    return req.DeleteRecordsRequest(
        topic=topic.name, topic_id=TOPIC_ID, deleted_message_offsets=step.offsets, local=local
    )


def _alter(step: AlterTopicStep, simulated: SimulatedState) -> req.Request:
    """The whole topic after one step (P201-25…27, P201-31, P201-32)."""
    topic, local = _topic(step.name, step.virtual_cluster, simulated)
    kind, assignment, generated = _altered(step, topic, simulated)
    requested = _changed(step.configs or {})
    state = requested_topic(topic, requested, assignment, generated=generated)
    return req.AlterTopicRequest(
        topic=topic.name, topic_id=TOPIC_ID, step=kind, requested_state=state, local=local
    )


def _altered(
    step: AlterTopicStep, topic: TopicState, simulated: SimulatedState
) -> tuple[req.AlterStep, Assignment, bool]:
    changes = [step.configs is not None, step.partitions is not None, step.assignments is not None]
    if sum(changes) != 1:
        raise StepError(
            (),
            "alterTopic needs exactly one of configs, partitions and assignments",
            "Kafka changes each by a request of its own: write one request for each",
        )
    if step.configs is not None:
        return req.AlterStep.CONFIGS, topic.assignment, False
    if step.partitions is not None:
        return req.AlterStep.PARTITIONS, _grown(topic, step.partitions, simulated), True
    assignment = _assigned(topic, step.assignments or {}, simulated)
    grows = len(assignment) > topic.num_partitions
    return req.AlterStep.PARTITIONS if grows else req.AlterStep.REPLICAS, assignment, False


def _grown(topic: TopicState, partitions: int, simulated: SimulatedState) -> Assignment:
    if partitions <= topic.num_partitions:
        raise StepError(
            ("partitions",),
            f"{topic.name} has {topic.num_partitions} partitions and Kafka can only add some",
            f"write a number above {topic.num_partitions}",
        )
    try:
        return grown(topic.name, topic.assignment, partitions, simulated.brokers)
    except PlacementError as error:
        raise StepError(("partitions",), str(error), "give the case more brokers") from error


def _assigned(
    topic: TopicState, assignments: Mapping[int, Sequence[int]], simulated: SimulatedState
) -> Assignment:
    after = {**topic.replicas_assignments, **assignments}
    for partition in range(len(after)):
        if partition not in after:
            raise StepError(
                ("assignments",),
                f"{topic.name} has no partition {partition}, which comes before those assigned",
                "number the partitions without a gap",
            )
        _check_brokers(after[partition], simulated, ("assignments", partition))
    return tuple(tuple(after[partition]) for partition in range(len(after)))


def _topic(
    name: str, virtual_cluster: str | None, simulated: SimulatedState
) -> tuple[TopicState, LocalName | None]:
    """The topic that is meant, and its name in a virtual cluster."""
    local = local_name(virtual_cluster, name, simulated.virtual_clusters)
    physical = name if local is None else simulated.virtual_clusters.topic_of(local)
    return _known(physical, simulated), local


def _known(name: str, simulated: SimulatedState) -> TopicState:
    topic = simulated.topics.get(name)
    if topic is None:
        near = nearest(name, list(simulated.topics))
        raise StepError(
            ("name",),
            f"there is no topic {name} at this point",
            f"did you mean {near}?" if near else "add it to the cluster, or create it before",
        )
    return topic


def _check_partitions(topic: TopicState, offsets: Mapping[int, int]) -> None:
    for partition in offsets:
        if partition >= topic.num_partitions:
            raise StepError(
                ("offsets", partition),
                f"{topic.name} has no partition {partition}",
                f"it has 0 to {topic.num_partitions - 1}",
            )


def _check_brokers(
    replicas: Sequence[int], simulated: SimulatedState, path: tuple[str | int, ...]
) -> None:
    broker_ids = [broker.id for broker in simulated.brokers]
    for broker in replicas:
        if broker not in broker_ids:
            raise StepError(
                path,
                f"the cluster has no broker {broker}",
                f"it has {listed(map(str, broker_ids))}",
            )


def _changed(configs: Mapping[str, object]) -> dict[str, str | None]:
    return {key: None if value is None else config_text(value) for key, value in configs.items()}
