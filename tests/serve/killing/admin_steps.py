"""Steps of a client that manages topics, rights, quotas and users, each about several at once."""

from serve.killing.step import Step
from serve.plain_requests import Fields

_EXISTS, _SAME_PARTITIONS, _NO_SUCH_TOPIC, _NO_SUCH_USER = 36, 37, 17, 91
_TOPIC, _SET, _DELETE = 2, 0, 1
_READ, _WRITE = 3, 4
_ANY, _LITERAL, _ALLOW = 1, 3, 3
_SHA_512 = 2


def new_topic(name: str, partitions: int = 1, **config: str) -> Fields:
    """A row of CreateTopics; ``retention_ms="1"`` gives a config."""
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in config.items()]
    counts = {"num_partitions": partitions, "replication_factor": 1}
    return {"name": name, **counts, "configs": configs}


def create_topics(*topics: Fields) -> Step:
    topics = topics or (
        new_topic("orders", 2, retention_ms="5000"),
        *(new_topic("audit"), new_topic("payments")),
        new_topic("table", cleanup_policy="compact"),
    )
    fields = {"topics": topics, "timeout_ms": 10_000}
    return Step("CreateTopics", 7, fields, when_repeated=_EXISTS)


def create_partitions() -> Step:
    counts = {"orders": 3, "audit": 2}
    rows = [{"name": name, "count": n, "assignments": None} for name, n in counts.items()]
    fields = {"topics": rows, "timeout_ms": 10_000}
    return Step("CreatePartitions", 3, fields, when_repeated=_SAME_PARTITIONS)


def alter_configs() -> Step:
    altered = {
        "orders": [("retention.ms", _SET, "7000"), ("segment.ms", _SET, "9000")],
        "audit": [("retention.bytes", _SET, "5"), ("segment.ms", _DELETE, None)],
    }
    rows = [
        {
            "resource_type": _TOPIC,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": operation, "value": value}
                for key, operation, value in configs
            ],
        }
        for name, configs in altered.items()
    ]
    return Step("IncrementalAlterConfigs", 1, {"resources": rows})


def create_acls() -> Step:
    rows = [
        {
            "resource_type": _TOPIC,
            "resource_name": "orders",
            "resource_pattern_type": _LITERAL,
            "principal": principal,
            "host": "*",
            "operation": operation,
            "permission_type": _ALLOW,
        }
        for principal, operation in (("User:a", _READ), ("User:b", _WRITE), ("User:b", _READ))
    ]
    return Step("CreateAcls", 3, {"creations": rows})


def delete_acls() -> Step:
    any_ = {"resource_type_filter": _ANY, "pattern_type_filter": _ANY, "operation": _ANY}
    names = {"resource_name_filter": None, "host_filter": None, "principal_filter": "User:b"}
    return Step("DeleteAcls", 3, {"filters": {**any_, **names, "permission_type": _ANY}})


def alter_quotas() -> Step:
    ops = [{"key": key, "value": 7.0} for key in ("producer_byte_rate", "consumer_byte_rate")]
    entries = [
        {"entity": {"entity_type": "user", "entity_name": name}, "ops": ops}
        for name in ("alice", None)
    ]
    return Step("AlterClientQuotas", 1, {"entries": entries})


def alter_scram(*users: str, gone: str | None = None) -> Step:
    credential = {"mechanism": _SHA_512, "iterations": 4096}
    password = {"salt": b"salt", "salted_password": b"x" * 64}
    fields = {
        "upsertions": [{"name": user, **credential, **password} for user in users],
        "deletions": [{"name": gone, "mechanism": _SHA_512}] if gone else [],
    }
    return Step("AlterUserScramCredentials", 0, fields, when_repeated=_NO_SUCH_USER)


def delete_topics() -> Step:
    rows = [{"name": name} for name in ("audit", "payments")]
    fields = {"topics": rows, "timeout_ms": 10_000}
    return Step("DeleteTopics", 6, fields, when_repeated=_NO_SUCH_TOPIC)
