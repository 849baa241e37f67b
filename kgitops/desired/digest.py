"""The digest of a desired state: over its objects, not how or where they are written."""

from collections.abc import Mapping

from kgitops.desired.state import (
    DesiredClientMetrics,
    DesiredCredential,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredQuota,
    DesiredState,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
    OffsetReset,
    Tombstone,
)
from kgitops.model.json.canonical import canonical_json, sha256
from kgitops.model.json.codec import to_json
from kgitops.model.registry import Json
from kgitops.model.resources.quotas import quota_text
from kgitops.model.resources.users import ScramMechanism


def digest(state: DesiredState) -> str:
    """Return ``sha256:…`` over the canonical JSON of all objects, in order of address."""
    content: dict[str, Json] = {
        "topics": [_topic(topic) for topic in state.topics],
        "acls": [{"address": acl.address, **_common(acl)} for acl in state.acls],
        "quotas": [_quota(quota) for quota in state.quotas],
        "tombstones": [_tombstone(tombstone) for tombstone in state.tombstones],
    }
    if state.virtual_clusters or state.links or state.members:
        content["virtualClusters"] = [_virtual_cluster(item) for item in state.virtual_clusters]
        content["links"] = [_link(link) for link in state.links]
        content["members"] = [_member(member) for member in state.members]
    if state.users:
        content["users"] = [_user(user) for user in state.users]
    if state.groups:
        content["groups"] = [_group(group) for group in state.groups]
    if state.client_metrics:
        content["clientMetrics"] = [_client_metrics(item) for item in state.client_metrics]
    return sha256(canonical_json(content))


def _topic(topic: DesiredTopic) -> Json:
    return {
        "address": topic.address,
        "partitions": topic.partitions,
        "replicationFactor": topic.replication_factor,
        "assignments": topic.assignment,
        "configs": topic.configs,
        "configsPolicy": topic.configs_policy,
        "deleteRecordsBefore": {
            str(partition): str(offset) for partition, offset in topic.delete_records_before.items()
        },
        **({"shareWith": list(topic.share_with)} if topic.share_with else {}),
        **_common(topic),
    }


def _quota(quota: DesiredQuota) -> Json:
    values = {key: quota_text(value) for key, value in quota.quotas.items()}
    return {"address": quota.address, "quotas": values, **_common(quota)}


def _user(user: DesiredUser) -> Json:
    scope = {"virtualCluster": user.virtual_cluster} if user.virtual_cluster else {}
    return {
        "address": user.address,
        "scram": credentials_view(user.credentials),
        **scope,
        **_common(user),
    }


def _group(group: DesiredGroup) -> Json:
    return {
        "address": group.address,
        "configs": group.configs,
        "resetOffsets": None if group.reset is None else reset_view(group.reset),
        **_common(group),
    }


def _client_metrics(declared: DesiredClientMetrics) -> Json:
    return {"address": declared.address, "configs": declared.configs, **_common(declared)}


def reset_view(reset: OffsetReset) -> dict[str, Json]:
    """Return a reset as digests and the registry have it; 64-bit numbers are text."""
    return {
        "version": reset.version,
        "position": reset.position,
        "timestamp": None if reset.timestamp_ms is None else str(reset.timestamp_ms),
        "offsets": {
            topic: {str(partition): str(at) for partition, at in sorted(partitions.items())}
            for topic, partitions in sorted(reset.offsets.items())
        },
        "topics": list(reset.topics),
    }


def _virtual_cluster(declared: DesiredVirtualCluster) -> Json:
    return {
        "address": declared.address,
        "mode": declared.mode,
        "capLowering": declared.options.cap_lowering,
        "denyWins": declared.options.deny_wins,
        **_common(declared),
    }


def _link(link: DesiredLink) -> Json:
    target = None if link.target is None else [link.target.virtual_cluster, link.target.name]
    return {"address": link.address, "topic": link.topic, "target": target, **_common(link)}


def _member(member: DesiredMember) -> Json:
    return {
        "address": member.address,
        "copyAclsFrom": member.copy_acls_from,
        "removeOldAclsFrom": member.remove_old_acls_from,
        "move": member.move,
        "adopt": member.adopt,
        "copyOffsets": member.copy_offsets,
        **_common(member),
    }


def _tombstone(tombstone: Tombstone) -> Json:
    return {
        "address": tombstone.address,
        "name": tombstone.name,
        "reason": tombstone.reason,
        "topicId": tombstone.topic_id,
        **({"labels": tombstone.labels} if tombstone.labels else {}),
    }


def _common(desired: DesiredObject) -> dict[str, Json]:
    return {
        "deletionPolicy": desired.deletion_policy,
        "deletionPolicyWritten": desired.deletion_policy_written,
        "labels": desired.labels,
    }


def credentials_view(credentials: Mapping[ScramMechanism, DesiredCredential]) -> dict[str, Json]:
    """Show declared credentials by mechanism."""
    return {
        mechanism.value: {
            "iterations": credential.iterations,
            "password": to_json(credential.password),
            "version": credential.version,
        }
        for mechanism, credential in credentials.items()
    }
