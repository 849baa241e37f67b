"""Names are found and changed wherever Kafka says what a field names."""

from kgitops.wire import messages
from kgitops.wire.entities import entities, rename


def test_topics_are_found_and_renamed() -> None:
    """In structs, in plain arrays, and not where there is null."""
    request = messages.OffsetFetchRequest(
        groups=[
            messages.OffsetFetchRequest.OffsetFetchRequestGroup(
                group_id="g",
                topics=[messages.OffsetFetchRequest.OffsetFetchRequestTopics(name="a")],
            ),
            messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="h", topics=None),
        ]
    )
    assert list(entities(request, "topicName")) == ["a"]
    assert list(entities(request, "groupId")) == ["", "g", "h"]
    renamed = rename(request, "topicName", lambda name: f"physical.{name}")
    assert list(entities(renamed, "topicName")) == ["physical.a"]
    assert list(entities(request, "topicName")) == ["a"]
    assert rename(request, "transactionalId", str.upper) is request


def test_arrays_of_names_are_renamed() -> None:
    """DeleteTopics before version 6."""
    request = messages.DeleteTopicsRequest(topic_names=["a", "b"])
    assert rename(request, "topicName", str.upper).topic_names == ["A", "B"]
