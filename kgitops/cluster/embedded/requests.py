"""Maps each of the port's requests to Kafka's, and lets the control of that kind decide it."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from kgitops.cluster.embedded.config_resources import physical_group
from kgitops.cluster.embedded.controls import acls as acl_control
from kgitops.cluster.embedded.controls import configs as config_control
from kgitops.cluster.embedded.controls import groups as group_control
from kgitops.cluster.embedded.controls import partitions as partition_control
from kgitops.cluster.embedded.controls import quotas as quota_control
from kgitops.cluster.embedded.controls import reassignments as reassignment_control
from kgitops.cluster.embedded.controls import scram as scram_control
from kgitops.cluster.embedded.controls import topic_deletion as topic_deletion_control
from kgitops.cluster.embedded.controls import topics as topic_control
from kgitops.cluster.embedded.controls import virtual_clusters as virtual_cluster_control
from kgitops.cluster.embedded.controls.acl_filter import exact_filter
from kgitops.cluster.embedded.controls.records import delete_records as records_control
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.checks import check_at_broker
from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.cluster.embedded.image.records import BROKER, CLIENT_METRICS, GROUP, TOPIC
from kgitops.cluster.embedded.namespaces import namespace
from kgitops.cluster.embedded.refusal import Refusal, attempt
from kgitops.cluster.embedded.rights import by_local_name
from kgitops.model import requests as req
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.virtual_clusters.rights import ApiKey


def is_held(draft: Draft, request: req.Request) -> bool:
    """Return whether a simulated fault keeps the request from finishing in time (A4-42, A4-65)."""
    match request:
        case req.CreateTopicRequest():
            return request.topic in draft.faults.leaderless_topics
        case req.DeleteTopicRequest():
            return draft.delta.topics.by_id(request.topic_id) is not None
        case _:
            return False


def decide_request(draft: Draft, request: req.Request) -> RequestResult | None:
    """The brokers' answer; None for success.

    Raises:
        Refusal: they refuse it.
    """
    with draft.labelled(request.labels):
        return _decide(draft, request)


def _decide(draft: Draft, request: req.Request) -> RequestResult | None:
    match request:
        case req.CreateTopicRequest():
            return _create_topic(draft, request)
        case req.AlterTopicRequest():
            with draft.naming_topic(request.local), by_local_name(draft, request):
                return _alter_topic(draft, request, _known(draft, request.topic_id))
        case req.DeleteTopicRequest():
            topic_id = request.topic_id
            with draft.naming_topic(request.local):
                return topic_deletion_control.delete_topic_ids(draft, [topic_id])[topic_id]
        case req.DeleteRecordsRequest():
            with draft.naming_topic(request.local), by_local_name(draft, request):
                return _delete_records(draft, request, _known(draft, request.topic_id))
        case req.CreateAclRequest():
            return acl_control.create_acls(draft, [request.binding])[0]
        case req.DeleteAclRequest():
            return acl_control.delete_acls(draft, [exact_filter(request.binding)])[0].result
        case req.AlterClientQuotaRequest():
            alteration = quota_control.QuotaAlteration(
                entity=request.entity, operations=tuple(request.quotas.items())
            )
            return attempt(quota_control.alter, draft, alteration)
        case req.AlterBrokerRequest():
            return _alter_broker(draft, request.broker, request.configs)
        case req.AlterUserScramCredentialsRequest():
            return _alter_user(draft, request)
        case req.AlterConfigResourceRequest():
            return _alter_config_resource(draft, request)
        case req.AlterConsumerGroupOffsetsRequest():
            return attempt(group_control.alter_offsets, draft, request)
        case req.DeleteConsumerGroupRequest():
            return attempt(group_control.delete_global, draft, request)
        case req.CreateVirtualClusterRequest():
            return attempt(virtual_cluster_control.create, draft, request)
        case req.AlterVirtualClusterRequest():
            return attempt(virtual_cluster_control.alter, draft, request)
        case req.DeleteVirtualClusterRequest():
            return attempt(virtual_cluster_control.delete, draft, request)
        case req.CopyGroupOffsetsRequest():
            return attempt(group_control.copy_offsets, draft, request)
        case req.DeleteGroupRequest():
            return attempt(group_control.delete, draft, request)
        case _:
            assert_never(request)


def _known(draft: Draft, topic_id: str) -> TopicImage:
    topic = draft.delta.topics.by_id(topic_id)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    if not draft.options.seed and not draft.authorizer.allows_topic(Operation.DESCRIBE, topic.name):
        # On a real cluster the id is looked up by Metadata, which takes this right.
        raise Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return topic


def _create_topic(draft: Draft, request: req.CreateTopicRequest) -> RequestResult:
    # Also if kgitops placed the replicas, this placement is the one reviewed (P201-34).
    state = request.requested_state
    local = request.local
    topic = topic_control.NewTopic(
        name=local.name if local else request.topic,
        virtual_cluster=local.virtual_cluster if local else None,
        assignments=tuple(enumerate(state.assignment)),
        configs=state.configs,
        generated=state.generated_replica_assignments,
    )
    return topic_control.create_topics(draft, [topic])[topic.name]


def _alter_topic(
    draft: Draft, request: req.AlterTopicRequest, topic: TopicImage
) -> RequestResult | None:
    state = request.requested_state
    match request.step:
        case req.AlterStep.CONFIGS:
            resource = config_control.ConfigResource(type=TOPIC, name=topic.name)
            operations = _operations(state.requested_configs)
            return attempt(config_control.alter, draft, resource, operations)
        case req.AlterStep.PARTITIONS:
            item = partition_control.NewPartitions(
                topic=topic.name,
                count=len(state.assignment),
                assignments=state.assignment[len(topic.assignment) :],
                generated=state.generated_replica_assignments,
            )
            return attempt(partition_control.create, draft, item)
        case req.AlterStep.REPLICAS:
            return _reassign(draft, request, topic)
        case _:
            assert_never(request.step)


def _alter_broker(draft: Draft, broker: int, configs: Mapping[str, str | None]) -> RequestResult:
    alive = [broker.id for broker in draft.delta.brokers.all() if not broker.fenced]
    if broker not in alive:
        # Only the broker itself takes such a change: no other can answer.
        raise Refusal(
            ErrorCode.NETWORK_EXCEPTION,
            f"broker {broker} is not alive; the cluster has "
            f"{', '.join(map(str, alive))}; start it or leave it out",
        )
    return attempt(_alter_as_broker, draft, str(broker), configs)


def _alter_as_broker(draft: Draft, name: str, configs: Mapping[str, str | None]) -> None:
    """Have the broker check them, then the controller; without a ``name`` for all brokers."""
    check_at_broker(name, {k: v for k, v in configs.items() if v is not None})
    resource = config_control.ConfigResource(type=BROKER, name=name)
    config_control.alter(draft, resource, _operations(configs))


def _alter_user(draft: Draft, request: req.AlterUserScramCredentialsRequest) -> RequestResult:
    user, mechanism = request.user, request.mechanism
    if request.removes:
        deletion = scram_control.ScramDeletion(user=user, mechanism=mechanism)
        return scram_control.alter_user_scram_credentials(draft, [deletion], ())[user]
    if not isinstance(request, req.SaltedCredentialsRequest):
        raise TypeError(f"the password of the user {user} was not read")
    salt, salted_password = request.salted.reveal()
    upsertion = scram_control.ScramUpsertion(
        user=user,
        mechanism=mechanism,
        iterations=request.iterations or 0,
        salt=salt,
        salted_password=salted_password,
    )
    return scram_control.alter_user_scram_credentials(draft, (), [upsertion])[user]


def _alter_config_resource(draft: Draft, request: req.AlterConfigResourceRequest) -> RequestResult:
    name = request.resource_name
    match request.resource_type:
        case ConfigResourceType.GROUP:
            type_ = GROUP
            name = physical_group(
                namespace(draft), Operation.ALTER_CONFIGS, name, ApiKey.INCREMENTAL_ALTER_CONFIGS
            )
        case ConfigResourceType.CLIENT_METRICS:
            type_ = CLIENT_METRICS
        case ConfigResourceType.BROKER if name != ALL_BROKERS:
            return _alter_broker(draft, int(name), request.configs)
        case ConfigResourceType.BROKER:
            return attempt(_alter_as_broker, draft, "", request.configs)
    resource = config_control.ConfigResource(type=type_, name=name)
    return attempt(config_control.alter, draft, resource, _operations(request.configs))


def _operations(requested: Mapping[str, str | None]) -> list[config_control.AlterConfig]:
    ops = config_control.ConfigOp
    return [
        config_control.AlterConfig(
            key=key, value=value, op=ops.DELETE if value is None else ops.SET
        )
        for key, value in requested.items()
    ]


def _reassign(draft: Draft, request: req.AlterTopicRequest, topic: TopicImage) -> RequestResult:
    state = request.requested_state
    changed = {
        (topic.name, partition): replicas
        for partition, replicas in enumerate(state.assignment)
        if topic.target_assignment[partition : partition + 1] != (replicas,)
    }
    rows = reassignment_control.alter_partition_reassignments(
        draft, changed, generated=state.generated_replica_assignments
    )
    return _first_failure(rows.values())


def _delete_records(
    draft: Draft, request: req.DeleteRecordsRequest, topic: TopicImage
) -> RequestResult:
    offsets = {
        (topic.name, partition): offset
        for partition, offset in request.deleted_message_offsets.items()
    }
    # One request was planned and judged, so one is judged here, for all leaders together: a denial
    # leaves nothing half deleted. Leaders that receive a client's request see only their part.
    rows = records_control.delete_records(draft, offsets, as_one=True)
    return _first_failure(row.result for row in rows.values())


def _first_failure(results: Iterable[RequestResult]) -> RequestResult:
    """The result of a logical request: Kafka answers by partition, and all of them must succeed."""
    return next((result for result in results if not result.ok), OK)
