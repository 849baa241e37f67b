"""Finds the last author of each field by reading the log batch by batch."""

from collections.abc import Iterable, Iterator
from typing import assert_never

from kgitops.cluster.embedded.image.records import (
    BROKER,
    TOPIC,
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    GroupRecord,
    MarkTopicRecord,
    OffsetsRecord,
    PartitionChangeRecord,
    PartitionsRecord,
    ProducerIdsRecord,
    ReassignmentRecord,
    Record,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveGroupRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    TransactionContentsRecord,
    TransactionRecord,
    UserScramCredentialRecord,
)
from kgitops.cluster.port import Author, Authors
from kgitops.model.resources.addresses import (
    acl_address,
    broker_address,
    config_resource_address,
    group_address,
    local_topic_address,
    member_address,
    quota_address,
    topic_address,
    user_address,
    virtual_cluster_address,
)
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.topics import RATES
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, generated_parts
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

_WHOLE = ""


def field_authors(batches: Iterable[tuple[Author, Iterable[Record]]], brokers: str) -> Authors:
    """The last author of each field, from the batches in the order of the log.

    Batches of the principal ``brokers`` only finish requests of others, and do not count.
    """
    topics: dict[str, str] = {}
    by_address: dict[str, dict[str, Author]] = {}
    for author, records in batches:
        local_names = _created_in_virtual_clusters(records)
        for record in records:
            if isinstance(record, TopicRecord):
                local = local_names.get(record.topic_id)
                address = local_topic_address(local) if local else topic_address(record.name)
                topics[record.topic_id] = address
                by_address.pop(address, None)  # authors of the old topic's fields
            if author.principal != brokers:
                for address, path in _fields(record, topics):
                    by_address.setdefault(address, {})[path] = author
    return {
        (address, path): author
        for address, fields in by_address.items()
        for path, author in fields.items()
    }


def _created_in_virtual_clusters(records: Iterable[Record]) -> dict[str, LocalName]:
    """Topic id to local name: such a topic is created together with its link (VC-056)."""
    links = [record for record in records if isinstance(record, VirtualClusterTopicLinkRecord)]
    return {
        link.topic_id: LocalName(link.virtual_cluster, link.link_name)
        for link in links
        if link.topic_id and link.topic and generated_parts(link.topic)
    }


def _fields(record: Record, topics: dict[str, str]) -> Iterator[tuple[str, str]]:
    match record:
        case TopicRecord() | MarkTopicRecord() | RemoveTopicRecord():
            yield topics[record.topic_id], _WHOLE
        case PartitionsRecord():
            address = topics[record.topic_id]
            yield from ((address, path) for path in ("partitions", "assignments"))
        case ReassignmentRecord() | PartitionChangeRecord():
            address = topics[record.topic_id]
            yield from ((address, path) for path in ("replicationFactor", "assignments"))
        case ConfigRecord():
            yield from _configured(record, topics)
        case VirtualClusterRecord() | RemoveVirtualClusterRecord():
            yield virtual_cluster_address(record.name), _WHOLE
        case VirtualClusterTopicLinkRecord():
            local = record.virtual_cluster, EntityType.TOPIC, record.link_name
            yield member_address(*local), _WHOLE
        case VirtualClusterEntityRecord():
            member = record.virtual_cluster, record.entity_type, record.entity_name
            yield member_address(*member), _WHOLE
        case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
            yield acl_address(record.binding), _WHOLE
        case ClientQuotaRecord():
            address = quota_address(record.entity)
            yield from ((address, path) for path in (_WHOLE, f"quotas.{record.key}"))
        case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
            address, credential = user_address(record.user), f"scram.{record.mechanism}"
            yield from (
                (address, path)
                for path in (_WHOLE, f"{credential}.iterations", f"{credential}.password")
            )
        case GroupRecord():
            # Consumers write most of these; a group as a whole is changed by its removal only.
            address = group_address(record.group)
            yield from ((address, f"offsets.{topic}.{at}") for topic, at in record.committed)
        case RemoveGroupRecord():
            yield group_address(record.group), _WHOLE
        case (
            RegisterBrokerRecord()
            | BrokerRegistrationChangeRecord()
            | OffsetsRecord()
            | ProducerIdsRecord()
            | TransactionRecord()
            | TransactionContentsRecord()
        ):
            pass  # nothing that a document declares
        case _:
            assert_never(record)


def _configured(record: ConfigRecord, topics: dict[str, str]) -> Iterator[tuple[str, str]]:
    """All but those of topics count for the whole: without any, there is no object."""
    path = f"configs.{record.key}"
    match record.resource_type:
        case kind if kind == TOPIC:
            yield topics[record.resource], path
        case kind if kind == BROKER and record.key in RATES:
            if record.resource:
                yield broker_address(int(record.resource)), f"throttles.{record.key}"
        case kind:
            resource = ConfigResourceType(kind.upper())
            address = config_resource_address(resource, record.resource or ALL_BROKERS)
            yield from ((address, it) for it in (_WHOLE, path))
