"""Consumer groups, client metrics and configs of brokers as documents."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from kgitops.desired.matching.reported_types import reported_problem, reported_text
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import OffsetReset, read_part
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import group_address, kind_of
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    FoundConfigs,
    is_set_by_kafka,
    normal_resource_value,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.kinds import GLOBAL_GROUP, KIND_OF_SORT
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.topics import RATES
from kgitops.model.resources.virtual_clusters import physical_id
from kgitops.workflow.export.files import Inline, Item
from kgitops.workflow.export.scope import ExportNotes, ExportScope, as_document, written_policy

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export_groups(
    state: ClusterState,
    scope: ExportScope,
    notes: ExportNotes,
    reported: Mapping[str, ConfigType],
) -> list[Item]:
    """Every group with configs outside of virtual clusters, and every one that is managed.

    A reset of offsets is written as it was applied: a plan takes it for done. ``reported`` are the
    types of configs that only the brokers know.
    """
    local = {
        physical_id(name, group)
        for name, virtual_cluster in state.virtual_clusters.items()
        for group in virtual_cluster.groups
    }
    items: list[Item] = []
    groups = {group.name: group for group in state.of(FoundGroup)}
    for name, group in sorted({**_without_configs(groups, scope), **groups}.items()):
        address = group_address(name)
        if name in local:
            notes.add(address, "its configs are left out, it is a group of a virtual cluster")
            continue
        if not scope.may_declare(address):
            continue
        last = scope.last_applied(address)
        configs = _configs(ConfigResourceType.GROUP, address, group.configs, last, notes, reported)
        if not configs and not last:
            notes.lost |= {address} if group.configs else set()
            continue
        reset = last.get("resetOffsets")
        spec: dict[str, Json] = {
            **({"configs": configs} if configs else {}),
            **({"resetOffsets": _reset(read_part(OffsetReset, reset))} if reset else {}),
            **written_policy(last),
        }
        items.append(Item(name, [as_document("ConsumerGroup", name, spec)]))
    return items


def _without_configs(
    groups: Mapping[str, FoundGroup], scope: ExportScope
) -> Mapping[str, FoundGroup]:
    """The managed groups that no consumer has used yet: without configs, nothing is gone."""
    found: dict[str, FoundGroup] = {}
    for address in scope.ownership.mine(GLOBAL_GROUP):
        last = scope.last_applied(address)
        if not last["configs"] and last["name"] not in groups:
            found[last["name"]] = FoundGroup(name=last["name"])
    return found


def export_configured(
    kind: ConfigResourceType,
    state: ClusterState,
    scope: ExportScope,
    notes: ExportNotes,
    reported: Mapping[str, ConfigType],
) -> list[Item]:
    """Every resource of this type that the project may declare, with its own configs."""
    items: list[Item] = []
    for address, found in sorted(state.objects.items()):
        if not isinstance(found, FoundConfigs) or found.type is not kind:
            continue
        if not scope.may_declare(address):
            continue
        last = scope.last_applied(address)
        own = last.get("configs", {})
        held = {k: v for k, v in found.configs.items() if k in own or not _is_kafkas(kind, k, v)}
        configs = _configs(kind, address, held, last, notes, reported)
        if configs:
            spec = {"configs": configs, **written_policy(last)}
            document = as_document(KIND_OF_SORT[kind_of(address)].value, found.name, spec)
            items.append(Item(found.name, [document]))
        elif held:
            notes.lost.add(address)
    return items


def _is_kafkas(kind: ConfigResourceType, key: str, value: str) -> bool:
    """True for what Kafka, or a move of replicas, sets on brokers by itself."""
    return kind is ConfigResourceType.BROKER and (key in RATES or is_set_by_kafka(key, value))


def _configs(
    kind: ConfigResourceType,
    address: str,
    configs: Mapping[str, str],
    last: Mapping[str, Json],
    notes: ExportNotes,
    reported: Mapping[str, ConfigType],
) -> dict[str, Json]:
    """The configs that can be declared; of others that were applied, the value of then."""
    applied: Mapping[str, str] = last.get("configs", {})
    written: dict[str, Json] = {}
    for key, value in sorted(configs.items()):
        type_ = reported.get(key)
        if key in resource_configs(kind):
            problem = resource_config_problem(kind, key, value)
        elif type_ is None:
            problem = f"the config {key} is not known to kgitops"
        else:
            problem = reported_problem(key, type_, value)
        if problem is None:
            written[key] = _written(kind, key, value, type_)
        elif key in applied:
            written[key] = _written(kind, key, applied[key], type_)
            notes.add(address, f"{problem}; the value last applied is written instead")
        else:
            notes.add(address, f"{problem}; it is left out and stays as it is")
    return written


def _written(kind: ConfigResourceType, key: str, value: str, reported: ConfigType | None) -> Json:
    """As a person would write it: numbers, booleans and lists plain, the rest as Kafka does."""
    text = normal_resource_value(kind, key, value)
    text = text if reported is None else reported_text(key, reported, value)
    reader = resource_configs(kind).get(key)
    match reader.config.type if reader else reported:
        case ConfigType.BOOLEAN:
            return text == "true"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            return int(text)
        case ConfigType.LIST:
            return list(filter(None, text.split(",")))
        case _:
            return text


def _reset(reset: OffsetReset) -> dict[str, Json]:
    """The declaration of a reset that ``desired.groups`` reads back the same."""
    return {
        "version": reset.version,
        "to": _target(reset),
        **({"topics": list(reset.topics)} if reset.topics else {}),
    }


def _target(reset: OffsetReset) -> Json:
    if reset.offsets:
        return {"offsets": dict(_explicit(reset))}
    if reset.timestamp_ms is not None:
        moment = _EPOCH + timedelta(milliseconds=reset.timestamp_ms)
        return Inline({"timestamp": moment.isoformat().replace("+00:00", "Z")})
    return reset.position


def _explicit(reset: OffsetReset) -> Iterator[tuple[str, Json]]:
    for topic, offsets in sorted(reset.offsets.items()):
        yield topic, {partition: offsets[partition] for partition in sorted(offsets)}
