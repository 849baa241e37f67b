"""Builders of requests about consumer groups, and about configs of groups and client metrics."""

from collections.abc import Mapping

from kgitops.model import requests as req
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.policy.api.requests import (
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    DeleteConsumerGroupRequest,
)
from kgitops.policy.testing.verdicts import NOBODY, asked

_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def alter_group_configs(
    group: str, configs: Mapping[str, str | None], *, principal: str = NOBODY
) -> AlterConfigResourceRequest:
    """Configs of a group; None as a value removes the key."""
    return _configs(ConfigResourceType.GROUP, group, configs, principal)


def alter_client_metrics(
    name: str, configs: Mapping[str, str | None], *, principal: str = NOBODY
) -> AlterConfigResourceRequest:
    """Configs of a subscription to clients' metrics; None as a value removes the key."""
    return _configs(ConfigResourceType.CLIENT_METRICS, name, configs, principal)


def alter_consumer_group_offsets(
    group: str, offsets: Mapping[str, Mapping[int, int]], *, principal: str = NOBODY
) -> AlterConsumerGroupOffsetsRequest:
    """Offsets of a group are to be set, by topic and partition."""
    topics = tuple(
        TopicOffsets(topic=topic, topic_id=_TOPIC_ID, offsets=partitions)
        for topic, partitions in offsets.items()
    )
    request = req.AlterConsumerGroupOffsetsRequest(group=group, topics=topics)
    return asked(AlterConsumerGroupOffsetsRequest, request, principal)


def delete_consumer_group(group: str, *, principal: str = NOBODY) -> DeleteConsumerGroupRequest:
    """A group is to be deleted."""
    request = req.DeleteConsumerGroupRequest(group=group)
    return asked(DeleteConsumerGroupRequest, request, principal)


def _configs(
    kind: ConfigResourceType, name: str, configs: Mapping[str, str | None], principal: str
) -> AlterConfigResourceRequest:
    request = req.AlterConfigResourceRequest(
        resource_type=kind, resource_name=name, configs=configs
    )
    return asked(AlterConfigResourceRequest, request, principal)
