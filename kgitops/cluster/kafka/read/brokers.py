"""Which brokers there are, what each is throttled to, and what topics get from them by default."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from kafka.protocol.admin import DescribeClusterRequest

from kgitops.cluster.kafka.answers import readable
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import Broker
from kgitops.model.resources.topics import RATES
from kgitops.model.topic_configs import normal_value, topic_configs

# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource
_DYNAMIC_BROKER, _DYNAMIC_DEFAULT, _STATIC = 2, 3, 4
_SET = frozenset({_DYNAMIC_BROKER, _DYNAMIC_DEFAULT, _STATIC})
_BROKERS = 1  # the endpoint type: brokers, not controllers (KIP-919)

# org.apache.kafka.server.config.ServerTopicConfigSynonyms: the names that count where the first one
# is not set, in their order, and how many of the topic's units one of theirs is.
_MINUTE, _HOUR = 60_000, 3_600_000
_LARGER: Mapping[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", _MINUTE), ("log.retention.hours", _HOUR)),
    "log.roll.ms": (("log.roll.hours", _HOUR),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", _HOUR),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
}


# What keeping tenants apart depends on, and the value that does no harm to it (VC-391).
_ISOLATION: Mapping[str, str | None] = {
    "allow.everyone.if.no.acl.found": "false",
    "authorizer.class.name": None,
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "super.users": None,
}
_HIDDEN = ""


class Setting(NamedTuple):
    """A broker's config in effect, and Kafka's number for where it comes from."""

    value: str | None
    source: int


Settings = Mapping[str, Setting]
"""A broker's configs by Kafka's name: those of :func:`broker_keys`."""


@cache
def broker_keys() -> tuple[str, ...]:
    """The configs of brokers that matter here."""
    keys = {config.server_default for config in topic_configs().values() if config.server_default}
    larger = {name for names in _LARGER.values() for name, _ in names}
    return tuple(sorted({*keys, *larger, *RATES, *_ISOLATION}))


def brokers_request() -> Message:
    """The request for all brokers, fenced ones included where brokers can tell (KIP-1073)."""
    return DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=_BROKERS,
        include_fenced_brokers=True,
    )


def brokers_of(wire: Wire, request: Message, answer: Message) -> tuple[Broker, ...]:
    """What was answered, by id; throttles are not known yet.

    Raises:
        UnreachableError: the cluster does not say.
    """
    response = readable(
        wire, request, answer, what="which brokers it has", right="Describe on the cluster"
    )
    found = (
        Broker(id=row.broker_id, rack=row.rack, fenced=bool(row.is_fenced), throttles=None)
        for row in response.brokers
    )
    return tuple(sorted(found, key=lambda broker: broker.id))


def throttles_of(settings: Settings) -> Mapping[str, str]:
    """The replication throttle that is set on the broker itself."""
    return {
        key: setting.value
        for key in RATES
        if (setting := settings.get(key)) is not None
        and setting.source == _DYNAMIC_BROKER
        and setting.value is not None
    }


def defaults_of(settings: Settings) -> Mapping[str, str]:
    """What topics get where they set nothing, by the topic's key: what Kafka itself would not give.

    ELR writes ``min.insync.replicas`` as a default of the whole cluster (KIP-966), which is no
    difference as long as it is the value that Kafka has anyway.
    """
    defaults = {}
    for key, config in topic_configs().items():
        value = _value(settings, config.server_default)
        if value is None:
            continue
        if config.default is None or normal_value(key, value) != normal_value(key, config.default):
            defaults[key] = value
    return defaults


def isolation_of(brokers: Iterable[Settings]) -> Mapping[str, str]:
    """The configs that isolation depends on, by Kafka's name; those that no broker sets are absent.

    Where brokers differ, the value that isolates least. The authorizer's own configs are none that
    brokers know, so that they say that one is set and hide to what: an empty text then.
    """
    known = list(brokers)
    found = {}
    for key, harmless in _ISOLATION.items():
        values = [settings[key].value or _HIDDEN for settings in known if key in settings]
        if values:
            found[key] = next((value for value in values if value != harmless), values[0])
    return found


def _value(settings: Settings, name: str | None) -> str | None:
    """The value of a broker's config, whichever of its names is set; None where none is."""
    if name is None:
        return None
    synonyms: Sequence[tuple[str, int]] = ((name, 1), *_LARGER.get(name, ()))
    for synonym, unit in synonyms:
        setting = settings.get(synonym)
        if setting is None or setting.value is None or setting.source not in _SET:
            continue
        return setting.value if unit == 1 else str(max(-1, int(setting.value) * unit))
    return None
