"""Reading groups and client metrics, and recognizing results of requests about them."""

from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import unquote

from msgspec.structs import replace

from kgitops.cluster.port import Cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.config_resources import (
    ClientMetricsState,
    ConfigResourceType,
    normal_resource_value,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.values import has_configs

_GROUP, _CLIENT_METRICS = "group/", "client-metrics/"


def has_resource_configs(request: req.AlterConfigResourceRequest, state: ClusterState) -> bool:
    """Return whether the resource has the configs that the request sets, and lacks the others."""
    kind, name = request.resource_type, request.resource_name
    held: FoundGroup | ClientMetricsState | None
    match kind:
        case ConfigResourceType.GROUP:
            held = state.groups.get(name)
        case ConfigResourceType.CLIENT_METRICS:
            held = state.client_metrics.get(name)
    configs = held.configs if held else {}
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
    """Add the groups and client metrics of these addresses; nothing is read if there are none.

    Raises:
        UnreachableError: the cluster can't be read.
    """
    wanted = tuple(addresses)
    groups, metrics = _named(wanted, _GROUP), _named(wanted, _CLIENT_METRICS)
    if groups:
        held: Mapping[str, FoundGroup] = cluster.read_groups(groups)
        state = replace(state, groups={**state.groups, **held})
    if metrics:
        found = cluster.read_client_metrics(metrics)
        state = replace(state, client_metrics={**state.client_metrics, **found})
    return state


def _named(addresses: Iterable[str], prefix: str) -> frozenset[str]:
    return frozenset(
        unquote(address.removeprefix(prefix)) for address in addresses if address.startswith(prefix)
    )
