"""The delta of topics: an image and the changes of records, readable as one."""

from msgspec.structs import replace

from kgitops.cluster.embedded.image.deltas import merged, with_value
from kgitops.cluster.embedded.image.image import TopicImage, TopicsImage, can_collide
from kgitops.cluster.embedded.image.records import (
    ConfigRecord,
    MarkTopicRecord,
    OffsetsRecord,
    PartitionChangeRecord,
    PartitionsRecord,
    ReassignmentRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kgitops.model.resources.names import collision_key


class TopicsDelta:
    """Changes of topics."""

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self._changed: dict[str, TopicImage | None] = {}
        self._names: dict[str, str | None] = {}
        self._collisions: dict[str, str | None] = {}

    def get(self, name: str) -> TopicImage | None:
        if name in self._changed:
            return self._changed[name]
        return self._image.by_name.get(name)

    def by_id(self, topic_id: str) -> TopicImage | None:
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
        """Take in the beginning, the end or the cancellation of a partition's move."""
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
        configs = with_value(topic.configs, record.key, record.value)
        self._changed[topic.name] = replace(topic, configs=configs)

    def remove(self, record: RemoveTopicRecord) -> str:
        """Take in that a topic is removed; returns its name."""
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
            by_name=merged(self._image.by_name, self._changed),
            names=merged(self._image.names, self._names),
            collisions=merged(self._image.collisions, self._collisions),
        )

    def _topic(self, topic_id: str) -> TopicImage:
        topic = self.by_id(topic_id)
        if topic is None:
            raise ValueError(f"a record names the topic id {topic_id}, which no topic has")
        return topic
