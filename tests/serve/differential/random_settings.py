"""Random requests about configs, client quotas and features."""

from serve.differential.random_choices import Choices, Fields, Step
from serve.differential.random_topics import CONFIGS, GOOD_CONFIGS

TOPIC, BROKER, GROUP, CLIENT_METRICS = 2, 4, 32, 16
SET, DELETE, APPEND, SUBTRACT = range(4)
BROKER_CONFIGS = (
    # None that topics have defaults from: those are the active controller's.
    ("log.cleaner.threads", "2"),
    ("background.threads", "11"),
    ("num.io.threads", "0"),
    ("log.cleaner.threads", "many"),
    ("no.such.config", "1"),
    ("process.roles", "broker"),
    ("follower.replication.throttled.rate", "1000"),
)
GROUP_CONFIGS = (
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.heartbeat.interval.ms", "6000"),
    ("consumer.session.timeout.ms", "1"),
    ("no.such.config", "1"),
)
METRICS_CONFIGS = (
    ("interval.ms", "60000"),
    ("metrics", "org.apache.kafka."),
    ("match", "client_id=a"),
    ("interval.ms", "1"),
    ("match", "colour=red"),
    ("no.such.config", "1"),
)
QUOTA_KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")


def _resource(choices: Choices) -> tuple[int, str, tuple[tuple[str, str | None], ...]]:
    good = GOOD_CONFIGS if not choices.rarely() else CONFIGS
    kind: int = choices.often(choices.one(TOPIC, TOPIC, BROKER), GROUP, CLIENT_METRICS, 7)
    match kind:
        case 4:
            # Broker 1 alone: the defaults of all are other programs' too.
            return kind, choices.often("1", "9", "x"), BROKER_CONFIGS
        case 32:
            return kind, choices.group(), GROUP_CONFIGS
        case 16:
            return kind, choices.often(choices.prefix + "m", ""), METRICS_CONFIGS
        case _:
            return kind, choices.topic(), good


def incremental_alter_configs(choices: Choices) -> Step:
    """Some configs of some resources, none of them twice: Kafka answers that with nothing."""
    rows: dict[tuple[int, str], Fields] = {}
    for _ in range(choices.often(1, 2, 3)):
        kind, name, pool = _resource(choices)
        configs = [_operation(choices, *choices.one(*pool)) for _ in range(choices.often(1, 2, 0))]
        rows[kind, name] = {"resource_type": kind, "resource_name": name, "configs": configs}
    fields = {"resources": list(rows.values()), "validate_only": choices.rarely()}
    return Step("IncrementalAlterConfigs", fields, writes=True, version=choices.often(1, 0))


def _operation(choices: Choices, name: str, value: str | None) -> Fields:
    operation = choices.often(SET, DELETE, APPEND, SUBTRACT, 9)
    return {"name": name, "config_operation": operation, "value": value}


def alter_configs(choices: Choices) -> Step:
    """All configs of a topic at once."""
    kind, name, pool = _resource(choices)
    if kind == BROKER:
        kind, name, pool = TOPIC, choices.existing_name(), GOOD_CONFIGS
    found = dict(choices.one(*pool) for _ in range(choices.one(0, 1, 2)))
    configs = [{"name": key, "value": value} for key, value in found.items()]
    fields = {
        "resources": [{"resource_type": kind, "resource_name": name, "configs": configs}],
        "validate_only": choices.rarely(),
    }
    return Step("AlterConfigs", fields, writes=True, version=choices.often(2, 0, 1))


def describe_configs(choices: Choices) -> Step:
    """Some configs, or all of a topic's."""

    def row() -> Fields:
        kind, name, pool = _resource(choices)
        keys = sorted({key for key, _ in pool})
        whole = kind in (TOPIC, GROUP, CLIENT_METRICS) and choices.one(True, False)
        return {
            "resource_type": kind,
            "resource_name": name,
            "configuration_keys": None if whole else choices.subset(keys) or keys,
        }

    fields = {
        "resources": choices.some(row),
        "include_synonyms": choices.one(True, False),
        "include_documentation": False,
    }
    return Step("DescribeConfigs", fields, writes=False, version=choices.often(4, 1, 3))


def list_config_resources(choices: Choices) -> Step:
    """Resources of a type that has configs, or of another."""
    fields = {"resource_types": choices.often([CLIENT_METRICS], [GROUP], [7], [99])}
    return Step("ListConfigResources", fields, writes=False)


def alter_client_quotas(choices: Choices) -> Step:
    """Quotas of the program's users and clients."""
    fields = {
        "entries": choices.some(lambda: _quota(choices), most=2),
        "validate_only": choices.rarely(),
    }
    return Step("AlterClientQuotas", fields, writes=True, version=choices.often(1, 0))


def _quota(choices: Choices) -> Fields:
    key = choices.often(choices.one(*QUOTA_KEYS), "controller_mutation_rate", "no_such", "")
    ops = [{"key": key, "value": choices.often(1024.0, 0.5, 0.0, -1.0), "remove": choices.rarely()}]
    if choices.rarely():
        ops.append({"key": key, "value": 2048.0, "remove": False})
    return {"entity": _entity(choices), "ops": ops}


def _entity(choices: Choices) -> list[Fields]:
    user = {"entity_type": "user", "entity_name": choices.user()}
    client = {"entity_type": "client-id", "entity_name": choices.prefix + "c"}
    found: list[Fields] = choices.often(
        [user],
        [user, client],
        [client],
        [],
        [user, user],
        [{"entity_type": "colour", "entity_name": "red"}],
        [{"entity_type": "ip", "entity_name": "127.0.0.7"}, user],
        [{"entity_type": "ip", "entity_name": "not an address"}],
        [{"entity_type": "user", "entity_name": ""}],
    )
    return found


def describe_client_quotas(choices: Choices) -> Step:
    """Quotas by users of the program; match 0 is the name, 1 the default, 2 any."""
    user = {"entity_type": "user", "match_type": 0, "match": choices.user()}
    client = {"entity_type": "client-id", "match_type": 0, "match": choices.prefix + "c"}
    components = choices.often(
        [user],
        [client],
        [user, client],
        [user, {**client, "match_type": 2, "match": None}],
        [user, user],
        [{"entity_type": "", "match_type": 0, "match": "a"}],
        [{"entity_type": "user", "match_type": 9, "match": "a"}],
        [{"entity_type": "user", "match_type": 0, "match": None}],
        [{"entity_type": "ip", "match_type": 2, "match": None}, user],
    )
    fields = {"components": components, "strict": choices.one(True, False)}
    return Step("DescribeClientQuotas", fields, writes=False, version=choices.often(1, 0))


def update_features(choices: Choices) -> Step:
    """Nothing but a dry run, since features are the whole cluster's."""
    update = choices.one(
        ("metadata.version", 30, 1),
        ("metadata.version", 999, 1),
        ("metadata.version", 0, 1),
        ("metadata.version", 7, 2),
        ("no.such.feature", 1, 1),
        ("group.version", 9, 1),
        ("metadata.version", 30, 9),
        ("", 1, 1),
    )
    row = dict(zip(("feature", "max_version_level", "upgrade_type"), update, strict=True))
    fields = {"timeout_ms": 30_000, "feature_updates": [row], "validate_only": True}
    return Step("UpdateFeatures", fields, writes=True, version=choices.often(2, 1))


READS = (describe_configs, describe_configs, list_config_resources, describe_client_quotas)
WRITES = (
    incremental_alter_configs,
    incremental_alter_configs,
    alter_configs,
    alter_client_quotas,
    update_features,
)
