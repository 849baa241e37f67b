"""Configs of a cluster that kgitops has no definition of: the types that brokers report."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kgitops.cluster.port import Cluster
from kgitops.desired.matching.reported_types import ReportedTypes
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    refused_broker_config,
    resource_configs,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.topic_configs import (
    ConfigType,
    is_throttle,
    removed_config,
    topic_configs,
)


def read_reported_types(
    cluster: Cluster, state: ClusterState, allow_configs: Sequence[str]
) -> ReportedTypes:
    """Ask the brokers for the types of the configs in ``state`` that kgitops does not know.

    Raises:
        UnreachableError: they can't be read.
    """
    set_on_topics = {name: topic.configs for name, topic in state.topics.items()}
    set_on_others: dict[ConfigResourceType, dict[str, Mapping[str, str]]] = {}
    found: list[FoundGroup | FoundConfigs] = [*state.of(FoundGroup), *state.of(FoundConfigs)]
    for it in found:
        of_broker = it.type is ConfigResourceType.BROKER
        declarable = {
            key: value
            for key, value in it.configs.items()
            if not (of_broker and refused_broker_config(key))
        }
        set_on_others.setdefault(it.type, {})[it.name] = declarable
    types: dict[ConfigResourceType | None, Mapping[str, ConfigType]] = {}
    keys = frozenset(
        key for key in _unknown(set_on_topics, topic_configs()) if _is_asked(key, allow_configs)
    )
    if keys:
        types[None] = cluster.read_config_types(None, min(set_on_topics), keys)
    for kind, configs in set_on_others.items():
        if keys := _unknown(configs, resource_configs(kind)):
            name = min(configs) if kind is not ConfigResourceType.BROKER else _alive(state)
            types[kind] = cluster.read_config_types(kind, name, keys)
    return types


def _alive(state: ClusterState) -> str:
    """The id of a broker that answers."""
    return str(min(broker.id for broker in state.brokers if not broker.fenced))


def _unknown(configs: Mapping[str, Mapping[str, str]], known: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*configs.values()) - frozenset(known)


def _is_asked(key: str, allow_configs: Sequence[str]) -> bool:
    if is_throttle(key) or removed_config(key) is not None:
        return False
    return not any(fnmatchcase(key, pattern) for pattern in allow_configs)
