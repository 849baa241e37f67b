"""The one normal form in which an object is declared, remembered and compared."""

import json
from collections.abc import Mapping

from kgitops.desired.state import DesiredAcl, DesiredObject, DesiredQuota, DesiredTopic
from kgitops.model.acls import AclBinding
from kgitops.model.cluster_state import Broker
from kgitops.model.quotas import ClientQuotaEntity, quota_text
from kgitops.model.registry import Json
from kgitops.model.topics import Assignment, TopicState


def last_applied(desired: DesiredObject) -> Mapping[str, Json]:
    """What the registry remembers of a declaration: all of it, deletionPolicy included."""
    match desired:
        case DesiredTopic():
            body = _topic_body(desired)
        case DesiredAcl():
            body = acl_view(desired.binding)
        case DesiredQuota():
            body = quota_view(desired.entity, desired.quotas)
    return {
        **body,
        "deletionPolicy": desired.deletion_policy.value,
        "deletionPolicyWritten": desired.deletion_policy_written,
    }


def _topic_body(desired: DesiredTopic) -> dict[str, Json]:
    return {
        "kind": "Topic",
        "name": desired.name,
        "partitions": desired.partitions,
        "replicationFactor": desired.replication_factor,
        "assignments": None if desired.assignment is None else _lists(desired.assignment),
        "configs": dict(sorted(desired.configs.items())),
        "configsPolicy": desired.configs_policy.value,
        "deleteRecordsBefore": {
            str(partition): str(offset)
            for partition, offset in sorted(desired.delete_records_before.items())
        },
    }


def topic_view(state: TopicState) -> dict[str, Json]:
    """A topic's state for ``before`` and ``after``."""
    return {
        "name": state.name,
        "topic_id": state.topic_id,
        "partitions": state.num_partitions,
        "replicationFactor": state.replication_factor,
        "assignments": _lists(state.assignment),
        "configs": dict(sorted(state.configs.items())),
    }


def acl_view(binding: AclBinding) -> dict[str, Json]:
    """A binding for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "Acl",
        "principal": binding.principal,
        "host": binding.host,
        "permission": binding.permission_type.value,
        "operation": binding.operation.value,
        "resource": {
            "type": binding.resource_type.value,
            "name": binding.resource_name,
            "patternType": binding.pattern_type.value,
        },
    }


def quota_view(entity: ClientQuotaEntity, quotas: Mapping[str, float]) -> dict[str, Json]:
    """Quotas for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "ClientQuota",
        "entity": dict(entity),
        "quotas": {key: quota_text(value) for key, value in sorted(quotas.items())},
    }


def broker_view(broker: Broker) -> dict[str, Json]:
    """A broker for ``before`` and ``after``: what is planned about it is its throttle alone."""
    return {"id": broker.id, "throttles": dict(sorted((broker.throttles or {}).items()))}


def assignment_text(assignment: Assignment) -> str:
    """An assignment as the text of a field: ``[[1,2],[2,3]]``."""
    return json.dumps(_lists(assignment), separators=(",", ":"))


def _lists(assignment: Assignment) -> list[list[int]]:
    return [list(replicas) for replicas in assignment]
