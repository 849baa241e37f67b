"""The brokers of a cluster, their replication throttles, and the topic defaults they set."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from kafka.protocol.admin import DescribeClusterRequest

from kgitops.cluster.kafka.answers import readable
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.topic_configs import normal_value, topic_configs
from kgitops.model.resources.topics import RATES

# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource
_DYNAMIC_BROKER, _DYNAMIC_DEFAULT, _STATIC = 2, 3, 4
_SET = frozenset({_DYNAMIC_BROKER, _DYNAMIC_DEFAULT, _STATIC})
_BROKERS = 1  # the endpoint type: brokers, not controllers (KIP-919)

# org.apache.kafka.server.config.ServerTopicConfigSynonyms: the names that apply where the first one
# is not set, in order, with their unit in units of the topic's config.
_MINUTE, _HOUR = 60_000, 3_600_000
_LARGER: Mapping[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", _MINUTE), ("log.retention.hours", _HOUR)),
    "log.roll.ms": (("log.roll.hours", _HOUR),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", _HOUR),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
}


# The configs that the isolation of tenants depends on, with the harmless value (VC-391).
_ISOLATION: Mapping[str, str | None] = {
    "allow.everyone.if.no.acl.found": "false",
    "authorizer.class.name": None,
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "super.users": None,
}
_HIDDEN = ""
_NUMBER = re.compile(r"-?[0-9]{1,18}")


class BrokerSetting(NamedTuple):
    """A broker's effective config value, and Kafka's code for its source."""

    value: str | None
    source: int


BrokerSettings = Mapping[str, BrokerSetting]
"""A broker's configs by Kafka's name: those of :func:`broker_keys`."""


@cache
def broker_keys() -> tuple[str, ...]:
    """Return the names of the broker configs that are read."""
    keys = {config.server_default for config in topic_configs().values() if config.server_default}
    larger = {name for names in _LARGER.values() for name, _ in names}
    return tuple(sorted({*keys, *larger, *RATES, *_ISOLATION}))


def brokers_request() -> Message:
    """Build the request for all brokers, with fenced ones where supported (KIP-1073)."""
    return DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=_BROKERS,
        include_fenced_brokers=True,
    )


def brokers_of(wire: Wire, request: Message, answer: Message) -> tuple[Broker, ...]:
    """Read the brokers from the answer, by id; their throttles are not known yet.

    Raises:
        UnreachableError: the cluster does not return them.
    """
    response = readable(wire, request, answer, what="which brokers it has")
    brokers = (
        Broker(id=row.broker_id, rack=row.rack, fenced=bool(row.is_fenced), throttles=None)
        for row in response.brokers
    )
    return tuple(sorted(brokers, key=lambda broker: broker.id))


def throttles_of(settings: BrokerSettings) -> Mapping[str, str]:
    """Return the replication throttle that is set on the broker itself."""
    return {
        key: setting.value
        for key in RATES
        if (setting := settings.get(key)) is not None
        and setting.source == _DYNAMIC_BROKER
        and setting.value is not None
    }


def defaults_of(settings: BrokerSettings) -> Mapping[str, str]:
    """Return the topic defaults of this cluster that differ from Kafka's own, by topic config.

    ELR writes ``min.insync.replicas`` as a default of the whole cluster (KIP-966), which is not a
    difference as long as it is Kafka's own value.
    """
    defaults = {}
    for key, config in topic_configs().items():
        value = _value(settings, config.server_default)
        if value is None:
            continue
        if config.default is None or normal_value(key, value) != normal_value(key, config.default):
            defaults[key] = value
    return defaults


def isolation_of(brokers: Iterable[BrokerSettings]) -> Mapping[str, str]:
    """Return the configs that isolation depends on, without those that no broker sets.

    Where brokers differ, the value that isolates least counts. Brokers do not know the configs of
    an authorizer, so they report that one is set but hide its value: it is an empty text then.
    """
    all_settings = list(brokers)
    isolation = {}
    for key, harmless in _ISOLATION.items():
        values = [settings[key].value or _HIDDEN for settings in all_settings if key in settings]
        if values:
            isolation[key] = next((value for value in values if value != harmless), values[0])
    return isolation


def _value(settings: BrokerSettings, name: str | None) -> str | None:
    """Return the value of a broker's config under any of its names; None where none is set."""
    if name is None:
        return None
    synonyms: Sequence[tuple[str, int]] = ((name, 1), *_LARGER.get(name, ()))
    for synonym, unit in synonyms:
        setting = settings.get(synonym)
        if setting is None or setting.value is None or setting.source not in _SET:
            continue
        if unit == 1 or not _NUMBER.fullmatch(setting.value):
            return setting.value
        return str(max(-1, int(setting.value) * unit))
    return None
