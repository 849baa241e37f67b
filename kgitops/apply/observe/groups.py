"""Reading groups and config resources, and recognizing results of requests about them."""

from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import unquote

from msgspec.structs import replace

from kgitops.apply.observe.objects import find_object
from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import request_address
from kgitops.model.resources.addresses import config_resource_address
from kgitops.model.resources.config_resources import (
    ALL_BROKERS,
    ConfigResourceType,
    FoundConfigs,
    normal_resource_value,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import RESOURCES
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
    group = state.groups.get(request.group)
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
    group = state.groups.get(request.group)
    return confirmed or group is None or not (group.known or group.offsets)


def with_groups(cluster: Cluster, state: ClusterState, addresses: Iterable[str]) -> ClusterState:
    """Add the groups and config resources of these addresses; if there are none, read nothing.

    Raises:
        UnreachableError: the cluster can't be read.
    """
    wanted = tuple(addresses)
    for kind, form in RESOURCES.items():
        names = _named(wanted, f"{form.segment}/")
        if kind is ConfigResourceType.BROKER:
            # A broker that left the cluster for good has no configs.
            names &= {ALL_BROKERS, *(str(broker.id) for broker in state.brokers)}
        if names and kind is ConfigResourceType.GROUP:
            held: Mapping[str, FoundGroup] = cluster.read_groups(names)
            state = replace(state, groups={**state.groups, **held})
        elif names:
            found = {
                config_resource_address(kind, name): FoundConfigs(
                    type=kind, name=name, configs=configs
                )
                for name, configs in cluster.read_configs(kind, names).items()
            }
            state = replace(state, config_resources={**state.config_resources, **found})
    return state


def _named(addresses: Iterable[str], prefix: str) -> frozenset[str]:
    return frozenset(
        unquote(address.removeprefix(prefix)) for address in addresses if address.startswith(prefix)
    )
