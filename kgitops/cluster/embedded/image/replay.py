"""Replaying records: the deltas gather what they change, and make the next image."""

from collections.abc import Iterable
from typing import assert_never

from kgitops.cluster.embedded.image.deltas import (
    AclsDelta,
    BrokersDelta,
    ConfigsDelta,
    GroupsDelta,
    QuotasDelta,
    TransactionsDelta,
)
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.image.records import (
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
from kgitops.cluster.embedded.image.scram_delta import ScramDelta
from kgitops.cluster.embedded.image.topics_delta import TopicsDelta
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)


def replay(image: Image, records: Iterable[Record]) -> Image:
    """The image after ``records``; the given one is not changed."""
    delta = Delta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


class Delta:
    """An image and what records have changed since, readable as one."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.topics = TopicsDelta(image.topics)
        self.brokers = BrokersDelta(image.brokers)
        self.configs = ConfigsDelta(image.configs)
        self.acls = AclsDelta(image.acls)
        self.quotas = QuotasDelta(image.quotas)
        self.groups = GroupsDelta(image.groups)
        self.transactions = TransactionsDelta(image.transactions)
        self.scram = ScramDelta(image.scram)
        self.virtual_clusters = VirtualClustersDelta(image.virtual_clusters)

    def replay(self, record: Record) -> None:
        """Take one record in."""
        match record:
            case RegisterBrokerRecord():
                self.brokers.register(record)
            case BrokerRegistrationChangeRecord():
                self.brokers.change(record)
            case TopicRecord():
                self.topics.create(record)
            case PartitionsRecord() | MarkTopicRecord() | OffsetsRecord():
                self.topics.alter(record)
            case ReassignmentRecord() | PartitionChangeRecord():
                self.topics.move(record)
            case RemoveTopicRecord():
                # Offsets committed in a topic are removed with it.
                self.groups.forget(self.topics.remove(record))
            case ConfigRecord():
                if record.resource_type == TOPIC:
                    self.topics.configure(record)
                else:
                    self.configs.configure(record)
            case AccessControlEntryRecord() | RemoveAccessControlEntryRecord():
                self.acls.replay(record)
            case ClientQuotaRecord():
                self.quotas.replay(record)
            case GroupRecord():
                self.groups.commit(record)
            case RemoveGroupRecord():
                self.groups.remove(record)
            case ProducerIdsRecord() | TransactionRecord() | TransactionContentsRecord():
                self.transactions.replay(record)
            case UserScramCredentialRecord() | RemoveUserScramCredentialRecord():
                self.scram.replay(record)
            case (
                VirtualClusterRecord()
                | RemoveVirtualClusterRecord()
                | VirtualClusterTopicLinkRecord()
                | VirtualClusterEntityRecord()
            ):
                self.virtual_clusters.replay(record)
            case _:
                assert_never(record)

    def apply(self) -> Image:
        """The next image; parts that nothing changed are the same objects."""
        return Image(
            brokers=self.brokers.apply(),
            topics=self.topics.apply(),
            configs=self.configs.apply(),
            acls=self.acls.apply(),
            quotas=self.quotas.apply(),
            groups=self.groups.apply(),
            transactions=self.transactions.apply(),
            scram=self.scram.apply(),
            virtual_clusters=self.virtual_clusters.apply(),
        )
