"""The one normal form in which an object is declared, recorded and compared."""

import json
from collections.abc import Mapping

from kgitops.desired.digest import credentials_view, reset_view
from kgitops.desired.state import (
    DesiredAcl,
    DesiredClientMetrics,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
)
from kgitops.model.cluster_state import Broker
from kgitops.model.registry import Json
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.quotas import ClientQuotaEntity, quota_text
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.users import ScramIterations, ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    LoweringOptions,
    generated_topic_name,
)


def last_applied(desired: DesiredObject) -> Mapping[str, Json]:
    """Return the whole declaration as the registry records it, including deletionPolicy."""
    match desired:
        case DesiredTopic():
            body = _topic_body(desired)
        case DesiredAcl():
            body = acl_view(desired.binding)
        case DesiredQuota():
            body = quota_view(desired.entity, desired.quotas)
        case DesiredUser():
            body = _user_body(desired)
        case DesiredGroup():
            reset = None if desired.reset is None else reset_view(desired.reset)
            body = {**group_view(desired.name, desired.configs), "resetOffsets": reset}
        case DesiredClientMetrics():
            body = client_metrics_view(desired.name, desired.configs)
        case DesiredVirtualCluster():
            body = virtual_cluster_view(desired.name, desired.options)
            body["mode"] = desired.mode.value
        case DesiredLink():
            body = link_view(desired.local, desired.topic, desired.target)
        case DesiredMember():
            body = _member_body(desired)
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
        "configs": in_order(desired.configs),
        "configsPolicy": desired.configs_policy.value,
        "deleteRecordsBefore": {
            str(partition): str(offset)
            for partition, offset in sorted(desired.delete_records_before.items())
        },
        **(
            {"virtualCluster": desired.virtual_cluster, "shareWith": list(desired.share_with)}
            if desired.virtual_cluster
            else {}
        ),
    }


def _user_body(desired: DesiredUser) -> dict[str, Json]:
    scope = {"virtualCluster": desired.virtual_cluster} if desired.virtual_cluster else {}
    return {
        "kind": "User",
        "name": desired.name,
        "scram": credentials_view(desired.credentials),
        **scope,
    }


def _member_body(desired: DesiredMember) -> dict[str, Json]:
    return {
        **member_view(desired.virtual_cluster, desired.entity_type, desired.name),
        "copyAclsFrom": desired.copy_acls_from,
        "removeOldAclsFrom": desired.remove_old_acls_from,
        "move": desired.move,
        "adopt": desired.adopt,
        "copyOffsets": desired.copy_offsets,
    }


def topic_view(state: TopicState) -> dict[str, Json]:
    """Show a topic's state for ``before`` and ``after``."""
    return {
        "name": state.name,
        "topic_id": state.topic_id,
        **shape_view(state.assignment),
        "configs": in_order(state.configs),
    }


def shape_view(assignment: Assignment) -> dict[str, Json]:
    """Show the shape of a topic for ``before`` and ``after``."""
    return {
        "partitions": len(assignment),
        "replicationFactor": len(assignment[0]) if assignment else 0,
        "assignments": _lists(assignment),
    }


def in_order(configs: Mapping[str, str]) -> dict[str, str]:
    """Sort the configs by their keys."""
    return {key: configs[key] for key in sorted(configs)}


def known_after_apply(name: str) -> str:
    """Show the physical name of a topic that is yet to be created in a virtual cluster (VC-057)."""
    return f"{generated_topic_name(NEW_UUID, name)} (known after apply)"


def acl_view(binding: AclBinding) -> dict[str, Json]:
    """Show a binding for ``before`` and ``after``, and for the registry."""
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
        **(
            {
                "virtualCluster": binding.virtual_cluster,
                "virtualClusterPatternType": binding.virtual_cluster_pattern_type.value,
            }
            if binding.scoped
            else {}
        ),
    }


def quota_view(entity: ClientQuotaEntity, quotas: Mapping[str, float]) -> dict[str, Json]:
    """Show quotas for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "ClientQuota",
        "entity": dict(entity),
        "quotas": {key: quota_text(value) for key, value in sorted(quotas.items())},
    }


def user_view(name: str, held: ScramIterations) -> dict[str, Json]:
    """Show the credentials of a user for ``before`` and ``after``."""
    return {
        "kind": "User",
        "name": name,
        "scram": {key.value: {"iterations": held[key]} for key in ScramMechanism if key in held},
    }


def group_view(name: str, configs: Mapping[str, str]) -> dict[str, Json]:
    """Show a group of the cluster for ``before`` and ``after``, and for the registry."""
    return {"kind": "ConsumerGroup", "name": name, "configs": in_order(configs)}


def client_metrics_view(name: str, configs: Mapping[str, str]) -> dict[str, Json]:
    """Show client metrics for ``before`` and ``after``, and for the registry."""
    return {"kind": "ClientMetrics", "name": name, "configs": in_order(configs)}


def virtual_cluster_view(name: str, options: LoweringOptions) -> dict[str, Json]:
    """Show a virtual cluster for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "VirtualCluster",
        "name": name,
        "lowering": {
            "capLowering": options.cap_lowering.value,
            "denyWins": options.deny_wins,
        },
    }


def option_texts(options: LoweringOptions) -> dict[str, str]:
    """Write the options of a virtual cluster as the texts of fields."""
    return {
        "options.capLowering": options.cap_lowering.value,
        "options.denyWins": str(options.deny_wins).lower(),
    }


def link_view(local: LocalName, topic: str | None, target: LocalName | None) -> dict[str, Json]:
    """Show a link for ``before`` and ``after``, and for the registry."""
    return {
        "kind": "TopicLink",
        "virtualCluster": local.virtual_cluster,
        "name": local.name,
        "topic": topic,
        "target": None
        if target is None
        else {"virtualCluster": target.virtual_cluster, "topic": target.name},
    }


def member_view(virtual_cluster: str, entity_type: EntityType, name: str) -> dict[str, Json]:
    """Show a member for ``before`` and ``after``; the registry records its other fields as well."""
    group = entity_type is EntityType.GROUP
    return {
        "kind": "ConsumerGroup" if group else "VirtualClusterBinding",
        "virtualCluster": virtual_cluster,
        "type": entity_type.value,
        "name": name,
    }


def broker_view(broker: Broker) -> dict[str, Json]:
    """Show a broker for ``before`` and ``after``: only its throttles are ever planned."""
    return {"id": broker.id, "throttles": dict(sorted((broker.throttles or {}).items()))}


def assignment_text(assignment: Assignment) -> str:
    """Write an assignment as the text of a field: ``[[1,2],[2,3]]``."""
    return json.dumps(_lists(assignment), separators=(",", ":"))


def _lists(assignment: Assignment) -> list[list[int]]:
    return [list(replicas) for replicas in assignment]
