"""Replaying records: a delta per kind gathers what they change, and makes the next image."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, assert_never

from kgitops.cluster.embedded.image import (
    AclsImage,
    BrokersImage,
    ConfigsImage,
    GroupImage,
    GroupsImage,
    Image,
    QuotasImage,
    TopicImage,
    TopicsImage,
    TransactionImage,
    TransactionsImage,
    can_collide,
)
from kgitops.cluster.embedded.records import (
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
    TopicRecord,
    TransactionRecord,
)
from kgitops.model.acls import AclBinding
from kgitops.model.cluster_state import Broker
from kgitops.model.names import collision_key
from kgitops.model.quotas import ClientQuotaEntity
from kgitops.virtual_clusters.image import VirtualClustersDelta
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

K = TypeVar("K")
T = TypeVar("T")


def replay(image: Image, records: Iterable[Record]) -> Image:
    """The image after ``records``; the one given is not touched."""
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
                # What was committed about a topic goes with it.
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
            case ProducerIdsRecord() | TransactionRecord():
                self.transactions.replay(record)
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
            virtual_clusters=self.virtual_clusters.apply(),
        )


class TopicsDelta:
    """Changes of topics."""

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self._changed: dict[str, TopicImage | None] = {}
        self._names: dict[str, str | None] = {}
        self._collisions: dict[str, str | None] = {}

    def get(self, name: str) -> TopicImage | None:
        """The topic of this name."""
        if name in self._changed:
            return self._changed[name]
        return self._image.by_name.get(name)

    def by_id(self, topic_id: str) -> TopicImage | None:
        """The topic with this id."""
        name = self._names[topic_id] if topic_id in self._names else self._image.names.get(topic_id)
        return None if name is None else self.get(name)

    def colliding(self, name: str) -> str | None:
        """Another topic whose metric names would be the same (A4-11)."""
        key = collision_key(name)
        held = self._collisions[key] if key in self._collisions else self._image.collisions.get(key)
        return None if held == name else held

    def create(self, record: TopicRecord) -> None:
        """Take in a new topic."""
        self._changed[record.name] = TopicImage(
            name=record.name,
            topic_id=record.topic_id,
            assignment=record.assignment,
            configs=record.configs,
        )
        self._names[record.topic_id] = record.name
        if can_collide(record.name):
            self._collisions[collision_key(record.name)] = record.name

    def alter(self, record: PartitionsRecord | MarkTopicRecord | OffsetsRecord) -> None:
        """Take in more partitions, other offsets, or the mark of deletion."""
        topic = self._topic(record.topic_id)
        match record:
            case PartitionsRecord():
                topic = replace(topic, assignment=topic.assignment + record.assignment)
            case MarkTopicRecord():
                topic = replace(topic, marked_for_deletion=True)
            case OffsetsRecord():
                topic = replace(topic, offsets={**topic.offsets, **record.offsets})
        self._changed[topic.name] = topic

    def move(self, record: ReassignmentRecord | PartitionChangeRecord) -> None:
        """Take in the begin, the end or the cancelling of a partition's move."""
        topic = self._topic(record.topic_id)
        targets = {k: v for k, v in topic.targets.items() if k != record.partition}
        assignment = topic.assignment
        match record:
            case ReassignmentRecord():
                if record.target is not None:
                    targets[record.partition] = record.target
            case PartitionChangeRecord():
                before, after = assignment[: record.partition], assignment[record.partition + 1 :]
                assignment = (*before, record.replicas, *after)
        self._changed[topic.name] = replace(topic, assignment=assignment, targets=targets)

    def configure(self, record: ConfigRecord) -> None:
        """Take in one config of a topic."""
        topic = self._topic(record.resource)
        configs = _with(topic.configs, record.key, record.value)
        self._changed[topic.name] = replace(topic, configs=configs)

    def remove(self, record: RemoveTopicRecord) -> str:
        """Take in that a topic is gone; its name."""
        topic = self._topic(record.topic_id)
        self._changed[topic.name] = None
        self._names[topic.topic_id] = None
        if can_collide(topic.name):
            self._collisions[collision_key(topic.name)] = None
        return topic.name

    def apply(self) -> TopicsImage:
        """The next image."""
        if not self._changed:
            return self._image
        return TopicsImage(
            by_name=_merged(self._image.by_name, self._changed),
            names=_merged(self._image.names, self._names),
            collisions=_merged(self._image.collisions, self._collisions),
        )

    def _topic(self, topic_id: str) -> TopicImage:
        topic = self.by_id(topic_id)
        if topic is None:
            raise ValueError(f"a record names the topic id {topic_id}, which no topic has")
        return topic


class BrokersDelta:
    """Changes of brokers."""

    def __init__(self, image: BrokersImage) -> None:
        self._image = image
        self._changed: dict[int, Broker] = {}

    def all(self) -> tuple[Broker, ...]:
        """Every registered broker, by id."""
        if not self._changed:
            return tuple(self._image.brokers.values())
        return tuple(self.apply().brokers.values())

    def register(self, record: RegisterBrokerRecord) -> None:
        """Take in a broker."""
        self._changed[record.id] = Broker(id=record.id, rack=record.rack)

    def change(self, record: BrokerRegistrationChangeRecord) -> None:
        """Take in that a broker was fenced or unfenced."""
        broker = self._changed.get(record.id) or self._image.brokers[record.id]
        self._changed[record.id] = replace(broker, fenced=record.fenced)

    def apply(self) -> BrokersImage:
        """The next image, by id."""
        if not self._changed:
            return self._image
        merged = {**self._image.brokers, **self._changed}
        return BrokersImage(brokers={key: merged[key] for key in sorted(merged)})


class ConfigsDelta:
    """Changes of brokers' dynamic configs."""

    def __init__(self, image: ConfigsImage) -> None:
        self._image = image
        self._changed: dict[str, dict[str, str]] = {}

    def of_broker(self, broker: str) -> dict[str, str]:
        """The dynamic configs of one broker; ``""`` for those of all."""
        if broker in self._changed:
            return self._changed[broker]
        return dict(self._image.brokers.get(broker, {}))

    def configure(self, record: ConfigRecord) -> None:
        """Take in one config."""
        self._changed[record.resource] = _with(
            self.of_broker(record.resource), record.key, record.value
        )

    def apply(self) -> ConfigsImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.brokers, **self._changed}
        return ConfigsImage(brokers={key: value for key, value in merged.items() if value})


class AclsDelta:
    """Changes of ACL bindings."""

    def __init__(self, image: AclsImage) -> None:
        self._image = image
        self._changed: dict[AclBinding, bool] = {}

    def __contains__(self, binding: AclBinding) -> bool:
        """Whether the binding exists."""
        return self._changed.get(binding, binding in self._image.bindings)

    def __iter__(self) -> Iterator[AclBinding]:
        """Every binding, in no order."""
        yield from (binding for binding in self._image.bindings if binding not in self._changed)
        yield from (binding for binding, there in self._changed.items() if there)

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Take in one binding that came or went."""
        self._changed[record.binding] = isinstance(record, AccessControlEntryRecord)

    def apply(self) -> AclsImage:
        """The next image."""
        if not self._changed:
            return self._image
        added = (binding for binding, there in self._changed.items() if there)
        return AclsImage(bindings=self._image.bindings.difference(self._changed).union(added))


class QuotasDelta:
    """Changes of client quotas."""

    def __init__(self, image: QuotasImage) -> None:
        self._image = image
        self._changed: dict[ClientQuotaEntity, dict[str, float]] = {}

    def of(self, entity: ClientQuotaEntity) -> dict[str, float]:
        """The quotas of one entity."""
        if entity in self._changed:
            return self._changed[entity]
        return dict(self._image.quotas.get(entity, {}))

    def replay(self, record: ClientQuotaRecord) -> None:
        """Take in one quota."""
        self._changed[record.entity] = _with(self.of(record.entity), record.key, record.value)

    def apply(self) -> QuotasImage:
        """The next image."""
        if not self._changed:
            return self._image
        merged = {**self._image.quotas, **self._changed}
        return QuotasImage(quotas={entity: quotas for entity, quotas in merged.items() if quotas})


class GroupsDelta:
    """Changes of groups."""

    def __init__(self, image: GroupsImage) -> None:
        self._image = image
        self._changed: dict[str, GroupImage | None] = {}

    def get(self, group: str) -> GroupImage | None:
        """The group of this physical id."""
        return self._changed[group] if group in self._changed else self._image.groups.get(group)

    def all(self) -> Mapping[str, GroupImage]:
        """Every group by physical id."""
        return _merged(self._image.groups, self._changed) if self._changed else self._image.groups

    def commit(self, record: GroupRecord) -> None:
        """Take in a group, or what it committed."""
        group = self.get(record.group) or GroupImage(virtual_cluster=record.virtual_cluster)
        committed = {**group.committed, **record.committed}
        self._changed[record.group] = replace(group, committed=committed)

    def remove(self, record: RemoveGroupRecord) -> None:
        """Take in that a group is gone."""
        self._changed[record.group] = None

    def forget(self, topic: str) -> None:
        """Take in that a topic is gone."""
        for name, group in self.all().items():
            kept = {key: group.committed[key] for key in group.committed if key[0] != topic}
            if len(kept) < len(group.committed):
                self._changed[name] = replace(group, committed=kept)

    def apply(self) -> GroupsImage:
        """The next image."""
        return GroupsImage(groups=self.all()) if self._changed else self._image


class TransactionsDelta:
    """Changes of producers and their transactions."""

    def __init__(self, image: TransactionsImage) -> None:
        self._image = image
        self._changed: dict[str, TransactionImage] = {}
        self.next_producer_id = image.next_producer_id

    def get(self, transactional_id: str) -> TransactionImage | None:
        """Who may write under this physical id."""
        return self._changed.get(transactional_id) or self._image.by_id.get(transactional_id)

    def open(self) -> frozenset[str]:
        """The physical ids of which a transaction is open."""
        held = {**self._image.by_id, **self._changed}
        return frozenset(name for name, transaction in held.items() if transaction.open)

    def replay(self, record: ProducerIdsRecord | TransactionRecord) -> None:
        """Take in a producer id that was given away, or what became of a transactional id."""
        match record:
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case TransactionRecord():
                self._changed[record.transactional_id] = TransactionImage(
                    producer_id=record.producer_id, epoch=record.epoch, open=record.open
                )

    def apply(self) -> TransactionsImage:
        """The next image."""
        if not self._changed and self.next_producer_id == self._image.next_producer_id:
            return self._image
        return TransactionsImage(
            next_producer_id=self.next_producer_id, by_id={**self._image.by_id, **self._changed}
        )


def _with(mapping: Mapping[str, T], key: str, value: T | None) -> dict[str, T]:
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def _merged(old: Mapping[K, T], changed: Mapping[K, T | None]) -> Mapping[K, T]:
    merged = dict(old)
    for key, value in changed.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged
