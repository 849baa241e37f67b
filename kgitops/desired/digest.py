"""The digest of a desired state: over what is asked for, not how or where it is written."""

from kgitops.desired.state import DesiredAcl, DesiredObject, DesiredQuota, DesiredTopic, Tombstone
from kgitops.model.canonical_json import canonical_json, sha256
from kgitops.model.quotas import quota_text
from kgitops.model.registry import Json


def digest(
    topics: tuple[DesiredTopic, ...],
    acls: tuple[DesiredAcl, ...],
    quotas: tuple[DesiredQuota, ...],
    tombstones: tuple[Tombstone, ...],
) -> str:
    """``sha256:…`` over the canonical JSON of every object; each comes in order of address."""
    return sha256(
        canonical_json(
            {
                "topics": [_topic(topic) for topic in topics],
                "acls": [{"address": acl.address, **_common(acl)} for acl in acls],
                "quotas": [_quota(quota) for quota in quotas],
                "tombstones": [_tombstone(tombstone) for tombstone in tombstones],
            }
        )
    )


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
        **_common(topic),
    }


def _quota(quota: DesiredQuota) -> Json:
    values = {key: quota_text(value) for key, value in quota.quotas.items()}
    return {"address": quota.address, "quotas": values, **_common(quota)}


def _tombstone(tombstone: Tombstone) -> Json:
    return {
        "address": tombstone.address,
        "name": tombstone.name,
        "reason": tombstone.reason,
        "topicId": tombstone.topic_id,
    }


def _common(desired: DesiredObject) -> dict[str, Json]:
    return {
        "deletionPolicy": desired.deletion_policy,
        "deletionPolicyWritten": desired.deletion_policy_written,
        "labels": desired.labels,
    }
