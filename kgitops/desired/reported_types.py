"""Configs that kgitops has no definition of: the brokers of a cluster report their types."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from kgitops.desired.findings import Findings, UnknownConfig
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import FindingsError
from kgitops.model.json.declared import (
    DesiredAcl,
    DesiredConfigs,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
)
from kgitops.model.resources.config_resources import ConfigResourceType, FoundConfigs
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.topic_config_values import ConfigType, reported_reader, to_text

T = TypeVar("T", bound=DesiredTopic | DesiredConfigs)
ReportedTypes = Mapping[ConfigResourceType | None, Mapping[str, ConfigType]]
"""The types of configs that brokers know, by the type of resource, which is None for topics."""
NOTHING_REPORTED: ReportedTypes = MappingProxyType({})


def with_reported_types(
    desired: DesiredState, types: ReportedTypes, current: ClusterState
) -> DesiredState:
    """Return the state with each such config in the normal form of the type that brokers report.

    A value that means the same as the one on the cluster gets that one's spelling, so that it is no
    change.

    Raises:
        FindingsError: the brokers don't know a config either, or its value is of another type.
    """
    if not desired.unknown_configs:
        return desired
    wrong = Findings()
    for unknown in desired.unknown_configs:
        _check(unknown, types.get(unknown.kind, {}).get(unknown.key), wrong)
    if wrong.found:
        raise FindingsError(dict.fromkeys((*wrong.found, *desired.warnings)))
    objects = (_with_types(item, types, current) for item in desired.objects)
    return replace(desired.with_objects(objects), unknown_configs=())


def reported_text(key: str, type_: ConfigType, text: str) -> str:
    """Return the value in the normal form of its type; unchanged if it is of another type."""
    value = reported_reader(key, type_).legal_value(text)
    return text if value is None else to_text(value)


def reported_problem(key: str, type_: ConfigType, text: str) -> str | None:
    """Return the reason why the value is not of its type, without showing it; or None."""
    reader = reported_reader(key, type_)
    if reader.legal_value(text) is not None:
        return None
    return f"{key} must be {reader.legal}, as the brokers report its type {type_}"


def _check(unknown: UnknownConfig, type_: ConfigType | None, wrong: Findings) -> None:
    key = unknown.key
    if type_ is None:
        wrong.found.append(unknown.refusal)
    elif type_ is ConfigType.PASSWORD:
        problem = f"{key} is a secret, as the brokers report, and a manifest can't hold one"
        wrong.error(unknown.document, unknown.path, problem, "remove it", key=True)
    elif unknown.listed and type_ is not ConfigType.LIST:
        problem = f"{key} takes one value, not a list"
        wrong.error(unknown.document, unknown.path, problem, "write the value alone")
    elif (of_another := reported_problem(key, type_, unknown.text)) is not None:
        wrong.error(unknown.document, unknown.path, of_another, "correct the value")


def _with_types(item: DesiredObject, types: ReportedTypes, current: ClusterState) -> DesiredObject:
    match item:
        case DesiredTopic():
            found = current.topics.get(item.name) if item.virtual_cluster is None else None
            return _typed(item, types.get(None, {}), found.configs if found else {})
        case DesiredConfigs():
            return _typed(item, types.get(item.resource, {}), _held(item, current))
        case (
            DesiredAcl()
            | DesiredQuota()
            | DesiredUser()
            | DesiredVirtualCluster()
            | DesiredLink()
            | DesiredMember()
        ):
            return item


def _held(item: DesiredConfigs, current: ClusterState) -> Mapping[str, str]:
    found = current.objects.get(item.address)
    return found.configs if isinstance(found, FoundGroup | FoundConfigs) else {}


def _typed(
    item: T,
    types: Mapping[str, ConfigType],
    existing: Mapping[str, str],
) -> T:
    reported = types.keys() & item.configs.keys()
    if not reported:
        return item
    normal = {key: _normal(key, types[key], item.configs[key], existing) for key in reported}
    return replace(item, configs={**item.configs, **normal})


def _normal(key: str, type_: ConfigType, text: str, existing: Mapping[str, str]) -> str:
    normal = reported_text(key, type_, text)
    found = existing.get(key)
    if found is not None and reported_text(key, type_, found) == normal:
        return found
    return normal
