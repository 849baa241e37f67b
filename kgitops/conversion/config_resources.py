"""Declares the configs of brokers and of groups for any tool."""

from collections.abc import Mapping

from kgitops.conversion.reading.building import ObjectBuilder
from kgitops.conversion.reading.values import Value
from kgitops.conversion.topics import config_text, plainly
from kgitops.model.registry import Json
from kgitops.model.resources.addresses import config_resource_address, group_address
from kgitops.model.resources.config_resources import (
    ConfigResourceType,
    nearest_resource_config,
    normal_resource_value,
    refused_broker_config,
    resource_config_problem,
    resource_configs,
)
from kgitops.model.resources.kinds import is_declarable
from kgitops.model.resources.topics import RATES

_BROKER, _GROUP = ConfigResourceType.BROKER, ConfigResourceType.GROUP
_THROTTLE = "it is left out; spec.safety.replicationThrottle says how fast kgitops moves replicas"


def declare_broker_config(builder: ObjectBuilder, name: str, configs: Mapping[str, Value]) -> None:
    """Add a BrokerConfig of the broker of this id, or of all; what can't be declared is a loss."""
    if not is_declarable(config_resource_address(_BROKER, name)):
        builder.lose(builder.value, f"{builder}: its name is no broker's id", "write the id there")
        return
    _declare(builder, "BrokerConfig", name, _values(builder, _BROKER, configs))


def declare_group(builder: ObjectBuilder, name: str, configs: Mapping[str, Value]) -> None:
    """Add a ConsumerGroup with its configs; what can't be declared is a loss."""
    if not name or not is_declarable(group_address(name)):
        builder.lose(builder.value, f"{builder}: its name is no group's id", "write the id there")
        return
    _declare(builder, "ConsumerGroup", name, _values(builder, _GROUP, configs))


def _declare(builder: ObjectBuilder, kind: str, name: str, configs: Mapping[str, Json]) -> None:
    builder.lose_if_empty(configs, "sets no config")
    if configs:
        builder.declare(kind, name, {"configs": configs})


def _values(
    builder: ObjectBuilder, kind: ConfigResourceType, configs: Mapping[str, Value]
) -> dict[str, Json]:
    """The configs as a person would write them."""
    written: dict[str, Json] = {}
    for key, value in configs.items():
        text = config_text(value)
        if text is None:
            shown = "has no value" if value.is_empty() else f"is {value.shown}"
            builder.lose(value, f"{builder}: {key} {shown}", "it is left out; correct it there")
        elif problem := _problem(kind, key, text):
            advice = _THROTTLE if key in RATES else "it is left out; see to it by hand"
            builder.lose(value, f"{builder}: {problem}", advice)
        else:
            type_ = resource_configs(kind)[key].config.type
            written[key] = plainly(normal_resource_value(kind, key, text), type_)
    return written


def _problem(kind: ConfigResourceType, key: str, text: str) -> str | None:
    if kind is _BROKER and (refused := refused_broker_config(key)):
        return f"{key} {refused}"
    if key not in resource_configs(kind):
        near = nearest_resource_config(kind, key)
        guess = f" (did they mean {near}?)" if near else ""
        return f"Kafka has no {kind.value.lower()} config {key}{guess}"
    return resource_config_problem(kind, key, text)
