"""Recognizing results of requests about groups and config resources."""

from functools import partial

from kgitops.apply.observe.objects import find_object
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import request_address
from kgitops.model.resources.addresses import group_address
from kgitops.model.resources.config_resources import FoundConfigs, normal_resource_value
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.values import has_configs


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
