"""Recognizing the result of a request in the cluster's state."""

from functools import partial
from typing import assert_never

from kgitops.apply.observe.objects import find_object
from kgitops.apply.observe.preconditions import is_as_requested
from kgitops.apply.observe.virtual_clusters import (
    has_copied_offsets,
    has_no_offsets,
    is_virtual_cluster_altered,
    is_virtual_cluster_created,
    linked_topic,
)
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import request_address
from kgitops.model.resources.addresses import group_address
from kgitops.model.resources.config_resources import FoundConfigs, normal_resource_value
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.topic_configs import normal_value
from kgitops.model.resources.topics import RequestedTopicState, TopicState
from kgitops.model.results import RequestResult
from kgitops.model.values import has_configs


def is_visible(
    request: req.Request | None, state: ClusterState, reply: RequestResult | None = None
) -> bool:
    """Return whether ``state`` shows the result of ``request``; always True without a request.

    Without the broker's ``reply`` the state alone must prove it: a created topic must then be
    exactly the requested one, and what is not visible does not count.
    """
    match request:
        case None:
            return True
        case req.CreateTopicRequest():
            topic = created_topic(request, state)
            return topic is not None and _is_created(topic, request.requested_state, reply)
        case req.AlterTopicRequest():
            topic = _same_topic(request.topic, request.topic_id, state)
            return topic is not None and _is_altered(topic, request)
        case req.DeleteTopicRequest():
            return _same_topic(request.topic, request.topic_id, state) is None
        case req.DeleteRecordsRequest():
            return _records_are_gone(request, state, confirmed=reply is not None)
        case req.CreateAclRequest():
            return request.binding in state.acls
        case req.DeleteAclRequest():
            return request.binding not in state.acls and request.binding not in state.partial_acls
        case req.AlterClientQuotaRequest():
            quota = state.quotas.get(request.entity)
            quotas = quota.quotas if quota else {}
            return all(
                quotas.get(key) == value and (request.entity, key) not in state.partial_quotas
                for key, value in request.quotas.items()
            )
        case req.AlterBrokerRequest():
            return _has_throttles(request, state)
        case req.AlterUserScramCredentialsRequest():
            # No state shows a password: only an answer tells that it is the one that was sent.
            return is_as_requested(request, state) and (request.removes or reply is not None)
        case req.AlterConfigResourceRequest():
            return has_resource_configs(request, state)
        case req.AlterConsumerGroupOffsetsRequest():
            return has_group_offsets(request, state, confirmed=reply is not None)
        case req.DeleteConsumerGroupRequest():
            return is_group_deleted(request, state, confirmed=reply is not None)
        case req.CreateVirtualClusterRequest():
            return is_virtual_cluster_created(request, state, confirmed=reply is not None)
        case req.AlterVirtualClusterRequest():
            return is_virtual_cluster_altered(request, state)
        case req.DeleteVirtualClusterRequest():
            return request.virtual_cluster not in state.virtual_clusters
        case req.CopyGroupOffsetsRequest():
            return has_copied_offsets(request, state, confirmed=reply is not None)
        case req.DeleteGroupRequest():
            return has_no_offsets(request, state)
        case _:
            assert_never(request)


def created_topic(request: req.CreateTopicRequest, state: ClusterState) -> TopicState | None:
    """Find the topic of a request; a topic of a virtual cluster is found through its link."""
    if request.local is not None:
        return linked_topic(request.local, state)
    return state.topics.get(request.topic)


def is_under_way(request: req.Request | None, state: ClusterState) -> bool:
    """Return whether the cluster has accepted the request and not finished it.

    A deletion waits for brokers (A4-63), a reassignment for data to be copied.
    """
    match request:
        case req.DeleteTopicRequest():
            topic = _same_topic(request.topic, request.topic_id, state)
            return topic is not None and topic.marked_for_deletion
        case req.AlterTopicRequest(step=req.AlterStep.REPLICAS):
            topic = _same_topic(request.topic, request.topic_id, state)
            wanted = request.requested_state.assignment
            return topic is not None and topic.reassigning and topic.assignment == wanted
        case _:
            return False


def is_move(request: req.Request | None) -> bool:
    """Return whether it is a reassignment, which may take hours and continues by itself."""
    return isinstance(request, req.AlterTopicRequest) and request.step is req.AlterStep.REPLICAS


def _same_topic(name: str, topic_id: str, state: ClusterState) -> TopicState | None:
    topic = state.topics.get(name)
    return topic if topic and topic.topic_id == topic_id else None


def _is_created(
    topic: TopicState, requested: RequestedTopicState, reply: RequestResult | None
) -> bool:
    if topic.marked_for_deletion or topic.assignment != requested.assignment:
        return False
    if reply and reply.topic_id and reply.topic_id != topic.topic_id:
        return False
    exact = reply is not None or topic.configs.keys() == requested.configs.keys()
    return exact and has_configs(topic.configs, requested.configs, normal_value)


def _is_altered(topic: TopicState, request: req.AlterTopicRequest) -> bool:
    requested = request.requested_state
    match request.step:
        case req.AlterStep.CONFIGS:
            return has_configs(topic.configs, requested.requested_configs, normal_value)
        case req.AlterStep.PARTITIONS:
            return topic.assignment == requested.assignment
        case req.AlterStep.REPLICAS:
            # While data is copied the state already shows the target (P201-16). Kafka ends a
            # reassignment once every replica that was added is in sync.
            return topic.assignment == requested.assignment and not topic.reassigning
        case _:
            assert_never(request.step)


def _has_throttles(request: req.AlterBrokerRequest, state: ClusterState) -> bool:
    broker = next((item for item in state.brokers if item.id == request.broker), None)
    if broker is None or broker.throttles is None:
        return False
    return all(broker.throttles.get(key) == value for key, value in request.configs.items())


def _records_are_gone(
    request: req.DeleteRecordsRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    if _same_topic(request.topic, request.topic_id, state) is None:
        return False
    usage = state.usage.get(request.topic)
    starts = usage.log_start_offsets if usage else ()
    for partition, offset in request.deleted_message_offsets.items():
        start = starts[partition] if partition < len(starts) else None
        if start is None:
            # Not every principal may read offsets; the leader's own answer must suffice then.
            if not confirmed:
                return False
        elif start < offset:
            return False
    return True


def has_resource_configs(request: req.AlterConfigResourceRequest, state: ClusterState) -> bool:
    """Return whether the resource has the configs that the request sets, and lacks the others."""
    kind = request.resource_type
    held = find_object(request_address(request), state)
    configs = held.configs if isinstance(held, FoundGroup | FoundConfigs) else {}
    return has_configs(configs, request.configs, partial(normal_resource_value, kind))


def has_group_offsets(
    request: req.AlterConsumerGroupOffsetsRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether the group has committed these offsets.

    Once the coordinator has ``confirmed`` it, consumers may have gone on from there.
    """
    group = state.find(FoundGroup, group_address(request.group))
    offsets = group.offsets if group else {}
    return confirmed or all(
        offsets.get((item.topic, partition)) == offset
        for item in request.topics
        for partition, offset in item.offsets.items()
    )


def is_group_deleted(
    request: req.DeleteConsumerGroupRequest, state: ClusterState, *, confirmed: bool
) -> bool:
    """Return whether there is no such group; only configs of that name may be left.

    Once the coordinator has ``confirmed`` it, consumers may have made another one.
    """
    group = state.find(FoundGroup, group_address(request.group))
    return confirmed or group is None or not (group.known or group.offsets)
