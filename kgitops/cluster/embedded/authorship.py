"""The log read once more for who wrote it: batch by batch, field by field."""

from collections.abc import Iterable, Iterator

from kgitops.cluster.authors import Author, Authors
from kgitops.cluster.embedded.records import (
    TOPIC,
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    MarkTopicRecord,
    PartitionChangeRecord,
    PartitionsRecord,
    ReassignmentRecord,
    Record,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kgitops.model.addresses import acl_address, quota_address, topic_address

_WHOLE = ""


def authors_of(batches: Iterable[tuple[Author, Iterable[Record]]], brokers: str) -> Authors:
    """Who last wrote each field, from the batches in the order of the log.

    What the principal ``brokers`` wrote only finishes what somebody else asked for.
    """
    names: dict[str, str] = {}
    found: dict[str, dict[str, Author]] = {}
    for author, records in batches:
        for record in records:
            if isinstance(record, TopicRecord):
                names[record.topic_id] = record.name
                found.pop(topic_address(record.name), None)  # what was written of the old topic
            if author.principal != brokers:
                for address, path in _fields(record, names):
                    found.setdefault(address, {})[path] = author
    return {(address, path): author for address, by in found.items() for path, author in by.items()}


def _fields(record: Record, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    match record:
        case TopicRecord() | MarkTopicRecord() | RemoveTopicRecord():
            yield topic_address(names[record.topic_id]), _WHOLE
        case PartitionsRecord():
            address = topic_address(names[record.topic_id])
            yield from ((address, path) for path in ("partitions", "assignments"))
        case ReassignmentRecord() | PartitionChangeRecord():
            address = topic_address(names[record.topic_id])
            yield from ((address, path) for path in ("replicationFactor", "assignments"))
        case ConfigRecord(resource_type=kind) if kind == TOPIC:
            yield topic_address(names[record.resource]), f"configs.{record.key}"
        case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
            yield acl_address(record.binding), _WHOLE
        case ClientQuotaRecord():
            address = quota_address(record.entity)
            yield from ((address, path) for path in (_WHOLE, f"quotas.{record.key}"))
        case _:
            pass
