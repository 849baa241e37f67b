"""Refusals of configs that a resource can't have, as Kafka 4.3 words them."""

import re
from collections.abc import Mapping, Sequence

from kgitops.cluster.embedded.broker_messages import (
    compaction_lags_refusal,
    config_refusal,
    plain_refusal,
    rate_refusal,
)
from kgitops.cluster.embedded.draft import Draft
from kgitops.cluster.embedded.effective.brokers import (
    THROTTLES,
    broker_config_defaults,
    known_broker_config,
)
from kgitops.cluster.embedded.image.state import topic_defaults
from kgitops.cluster.embedded.refusal import Refusal
from kgitops.model.resources.config_resources import ConfigResourceType, known_configs
from kgitops.model.resources.topic_configs import (
    ConfigType,
    configs_problems,
    removed_config,
    topic_configs,
)
from kgitops.model.results import ErrorCode

_PER_BROKER = re.compile(r"ssl\..*|sasl\..*|listeners|listener\..*|principal\.builder\.class")
_NUMBERS = {
    ConfigType.BOOLEAN: ConfigType.BOOLEAN,
    ConfigType.INT: ConfigType.INT,
    ConfigType.SHORT: ConfigType.INT,
    ConfigType.LONG: ConfigType.LONG,
    ConfigType.DOUBLE: ConfigType.DOUBLE,
}
_THREADS = frozenset(
    {
        "background.threads",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
_INTERVAL, _MATCH = "interval.ms", "match"
_SHORTEST, _LONGEST = 100, 3_600_000
_PARAMETERS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
_RESET = re.compile(r"earliest|latest|by_duration:P[0-9DTHMS.]+", re.IGNORECASE)
_BOUND = re.compile(
    r"(consumer|share|streams)\.(?P<key>(session|heartbeat)\.(timeout|interval)\.ms)"
)


def check_topic_configs(
    draft: Draft, configs: Mapping[str, str], *, before: Mapping[str, str]
) -> None:
    """Refuse configs that a topic can't have.

    Raises:
        Refusal: there are such configs (40).
    """
    for key, value in configs.items():
        if key not in topic_configs():
            if draft.options.vendor_configs and removed_config(key) is None:
                continue
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {key}")
        refusal = config_refusal(key, value)
        if refusal:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal)
    defaults = broker_defaults(draft)
    conflict = compaction_lags_refusal(configs, defaults)
    if conflict:
        raise Refusal(ErrorCode.INVALID_CONFIG, conflict)
    problems = configs_problems(configs, broker_defaults=defaults, existing=before)
    for _, problem in problems:
        raise Refusal(ErrorCode.INVALID_CONFIG, problem)


def check_broker_configs(configs: Mapping[str, str]) -> None:
    """Refuse configs that a broker can't have.

    Raises:
        Refusal: there are such configs (40, 42).
    """
    by_server_name = {config.server_default: key for key, config in topic_configs().items()}
    for key, value in configs.items():
        wrong_rate = rate_refusal(key, value) if key in THROTTLES else None
        if wrong_rate:
            raise Refusal(ErrorCode.INVALID_REQUEST, wrong_rate)
        topic_key = by_server_name.get(key)
        refusal = None if topic_key is None else config_refusal(topic_key, value)
        if refusal and topic_key:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal.replace(topic_key, key))


def broker_defaults(draft: Draft) -> dict[str, str]:
    """Brokers' defaults of topic configs, by the topics' keys, if they differ from Kafka's."""
    return topic_defaults(draft.options.static_configs, draft.image.configs.brokers.get("", {}))


def check_at_broker(name: str, configs: Mapping[str, str]) -> None:
    """Refuse what a broker refuses before it asks the controller (DynamicBrokerConfig).

    Raises:
        Refusal: there are such configs (42).
    """
    known = known_configs(ConfigResourceType.BROKER)
    static = [key for key in configs if key in known and known[key].read_only]
    if static:
        _refuse(f"Cannot update these configs dynamically: {_listed(static)}")
    of_listeners = [key for key in configs if key in known and key.startswith("ssl.")]
    if name and of_listeners:
        _refuse(
            "These security configs can be dynamically updated only per-listener using the "
            f"listener prefix: {_listed(of_listeners)}"
        )
    single = [key for key in configs if _PER_BROKER.fullmatch(key)]
    if not name and single:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified: "
            f"{_listed(single)}"
        )
    for key, value in configs.items():
        config = known_broker_config(key)
        if key in THROTTLES:
            refusal = rate_refusal(key, value)
        else:
            refusal = _type_refusal(key, config.type, value) if config else None
        if refusal is None and key in _THREADS and int(value) < 1:
            refusal = f"Invalid value {value} for configuration {key}: Value must be at least 1"
        if refusal:
            _refuse(refusal)


def check_lists_at_broker(operations: Sequence[tuple[str, str]]) -> None:
    """Refuse to append to and subtract from configs of a broker that are no lists.

    ``operations`` are keys, each with ``append`` or ``subtract``.

    Raises:
        Refusal: there are such configs (40), or they are read once (42).
    """
    for key, operation in operations:
        config = known_broker_config(key)
        if config is None:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown config name: {key}")
        if config.type is not ConfigType.LIST:
            raise Refusal(
                ErrorCode.INVALID_CONFIG,
                f"Config value {operation} is not allowed for config key: {key}",
            )
        if config.read_only:
            _refuse(f"Cannot update these configs dynamically: {_listed([key])}")


def check_group_configs(configs: Mapping[str, str], brokers: Mapping[str, str]) -> None:
    """Refuse configs that a group can't have; ``brokers`` are those of all brokers.

    Raises:
        Refusal: there are such configs (40).
    """
    known = known_configs(ConfigResourceType.GROUP)
    for key, value in configs.items():
        if key not in known:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {key}")
        refusal = _type_refusal(key, known[key].type, value) or _reset_refusal(key, value)
        if refusal:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal)
    for key, value in configs.items():
        matched = _BOUND.fullmatch(key)
        if not matched:
            continue
        for bound, wrong in (("min", "greater"), ("max", "less")):
            name = f"group.{matched[1]}.{bound}.{matched['key']}"
            limit = {**broker_config_defaults(), **brokers}.get(name)
            if limit is None:
                continue
            outside = int(value) < int(limit) if bound == "min" else int(value) > int(limit)
            if outside:
                raise Refusal(
                    ErrorCode.INVALID_CONFIG, f"{key} must be {wrong} than or equal to {name}"
                )


def check_client_metrics(configs: Mapping[str, str]) -> None:
    """Refuse configs that a subscription to clients' metrics can't have (ClientMetricsConfigs).

    Raises:
        Refusal: there are such configs (40, 42).
    """
    known = known_configs(ConfigResourceType.CLIENT_METRICS)
    for key, value in configs.items():
        if key not in known:
            _refuse(f"Unknown client metrics configuration: {key}")
        refusal = _type_refusal(key, known[key].type, value)
        if refusal:
            raise Refusal(ErrorCode.INVALID_CONFIG, refusal)
    interval = configs.get(_INTERVAL)
    if interval is not None and not _SHORTEST <= int(interval) <= _LONGEST:
        _refuse(
            f"Invalid value {interval} for {_INTERVAL}, interval must be between {_SHORTEST} and "
            f"{_LONGEST} (1 hour)"
        )
    for pattern in filter(None, configs.get(_MATCH, "").split(",")):
        name, equals, _ = pattern.partition("=")
        if not equals or name.strip() not in _PARAMETERS:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")


def _reset_refusal(key: str, value: str) -> str | None:
    if key != "share.auto.offset.reset" or _RESET.fullmatch(value):
        return None
    wrong = f"for configuration {key}"
    return (
        f"Invalid value {value} {wrong}: Invalid value `{value}` {wrong}. The value must be either "
        "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def _type_refusal(key: str, type_: ConfigType, value: str) -> str | None:
    number = _NUMBERS.get(type_)
    return plain_refusal(key, number, value) if number else None


def _listed(keys: Sequence[str]) -> str:
    return f"[{', '.join(keys)}]"


def _refuse(message: str) -> None:
    raise Refusal(ErrorCode.INVALID_REQUEST, message)
