"""Streams groups (KIP-1071): a topology of local names, each of which is there."""

import pytest
from gateway.rewriting.frames import Rewriter, table_of

from kgitops.wire import messages
from kgitops.wire.messages import Message

INVALID_TOPOLOGY = 130
BEAT = messages.StreamsGroupHeartbeatRequest


def joining(**names: list[str]) -> Message:
    """The first heartbeat of an application with one subtopology."""
    kinds = ("state_changelog_topics", "repartition_source_topics")
    made = {
        field: [BEAT.TopicInfo(name=name) for name in found] if field in kinds else found
        for field, found in names.items()
    }
    part = BEAT.Subtopology(subtopology_id="0", **made)
    return BEAT(group_id="app", member_id="m", topology=BEAT.Topology(subtopologies=[part]))


def test_a_topology_is_told_in_physical_names() -> None:
    """Those of sources, of repartitions on both sides, and of changelogs."""
    client = Rewriter(table_of())
    asked = joining(
        source_topics=["Orders"],
        repartition_sink_topics=["stream"],
        repartition_source_topics=["stream"],
        state_changelog_topics=["perf"],
    )
    sent, exchange = client.request(asked, 0)
    (part,) = sent.topology.subtopologies
    assert sent.group_id == "emea.sales:app"
    assert part.source_topics == ["5f1c.Orders"]
    assert part.repartition_sink_topics == ["shared.stream"]
    assert [topic.name for topic in part.repartition_source_topics] == ["shared.stream"]
    assert [topic.name for topic in part.state_changelog_topics] == ["5f1c.perf"]
    kind = messages.StreamsGroupHeartbeatResponse
    detail = "Following topics are missing: [shared.stream]"
    partitions = [
        kind.TopicPartition(topic=name, partitions=[0]) for name in ("5f1c.Orders", "others")
    ]
    endpoint = kind.EndpointToPartitions(
        user_endpoint=kind.Endpoint(host="app-1", port=80), active_partitions=partitions
    )
    answer = client.response(
        kind(
            status=[kind.Status(status_code=3, status_detail=detail)],
            partitions_by_user_endpoint=[endpoint],
        ),
        exchange,
    )
    assert answer.status[0].status_detail == "Following topics are missing: [stream]"
    (shown,) = answer.partitions_by_user_endpoint
    assert [each.topic for each in shown.active_partitions] == ["Orders"]
    # Where the application itself listens is its own affair.
    assert shown.user_endpoint.host == "app-1"


@pytest.mark.parametrize(
    "field",
    [
        "source_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "state_changelog_topics",
    ],
)
def test_no_broker_is_asked_for_topics_that_are_not_there(field: str) -> None:
    """It would make internal ones by itself; physical names are no names either."""
    client = Rewriter(table_of())
    asked = joining(**{field: ["Orders", "app-store-changelog", "5f1c.Orders"]})
    answer = client.refusal(asked, 0)
    assert answer.error_code == INVALID_TOPOLOGY
    assert "no topics 5f1c.Orders, app-store-changelog: declare them" in answer.error_message


def test_patterns_are_refused() -> None:
    """Brokers match them with all topics."""
    client = Rewriter(table_of())
    answer = client.refusal(joining(source_topics=["Orders"], source_topic_regex=["O.*"]), 0)
    assert answer.error_code == INVALID_TOPOLOGY
    assert "name the topics" in answer.error_message


def test_later_heartbeats_have_no_topology() -> None:
    """They are about the group alone."""
    client = Rewriter(table_of())
    sent, _ = client.request(BEAT(group_id="app", member_id="m", member_epoch=3), 0)
    assert (sent.group_id, sent.topology) == ("emea.sales:app", None)
