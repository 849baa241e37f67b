"""Brokers that lag behind, hold still, or are dead: they see older images of the one log."""

import time

import pytest
from cluster.clusters import a_cluster, a_grant, a_new_topic, admin
from patience import eventually
from serve.served import served
from serve.topic_requests import created, creating, seen

from kgitops.cluster.embedded.options import Compat
from kgitops.model.resources.acls import Operation, ResourceType
from kgitops.model.results import ErrorCode
from kgitops.serve.forwarding.options import Consistency
from kgitops.serve.views import BrokerViews, Lag
from kgitops.wire import messages

ABSENT = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_broker_that_holds_still_catches_up() -> None:
    """F590-02, F590-44, A4-89, A4-103: success is what the controller stored."""
    with served() as brokers, brokers.client(1) as client, brokers.client(2) as other:
        brokers.done("hold", broker=2)
        assert created(other, "orders") == {"orders": 0}
        assert (seen(client, "orders"), seen(other, "orders")) == (0, ABSENT)
        assert brokers.topics() == ["orders"]
        brokers.done("release", broker=2)
        assert seen(other, "orders") == 0


def test_a_broker_that_was_down_catches_up() -> None:
    """F590-02: what changed meanwhile is there when it is back, at the same address."""
    with served() as brokers, brokers.client(1) as client:
        brokers.done("stop", node=2)
        with pytest.raises(ConnectionRefusedError), brokers.client(2):
            pass
        assert created(client, "orders") == {"orders": 0}
        brokers.done("start", node=2)
        with brokers.client(2) as other:
            assert seen(other, "orders") == 0


def test_a_broker_without_a_view_of_its_writes_is_polled() -> None:
    """A4-26, A4-27, A4-101, F590-43: by default stale reads are the retriable 3, and end."""
    with served(lag_ms=100) as brokers, brokers.client(1) as client:
        since = time.monotonic()
        assert created(client, "orders") == {"orders": 0}
        assert seen(client, "orders") == ABSENT
        eventually(
            lambda: seen(client, "orders"), lambda code: not code, what="the broker sees the topic"
        )
        assert time.monotonic() - since >= 0.1


def test_consistency_of_the_cluster() -> None:
    """A4-100, F590-43: an answer comes once every living broker has what it is about."""
    with served(lag_ms=80, consistency=Consistency.CLUSTER) as brokers:
        with brokers.client(1) as client:
            since = time.monotonic()
            assert created(client, "orders") == {"orders": 0}
            assert time.monotonic() - since >= 0.08
        for broker in (1, 2, 3):
            with brokers.client(broker) as client:
                assert seen(client, "orders") == 0


def test_consistency_of_the_cluster_within_the_time() -> None:
    """A4-100, A4-102: else the outcome is unknown to the client, and the topic is there."""
    with (
        served(lag_ms=10_000, consistency=Consistency.CLUSTER) as brokers,
        brokers.client(1) as client,
    ):
        answer = client.ask("CreateTopics", 7, creating("orders", timeout_ms=50))
        assert answer.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        assert brokers.topics() == ["orders"]


def test_brokers_that_hold_still_are_not_waited_for() -> None:
    """A4-100."""
    with served(consistency=Consistency.CLUSTER) as brokers, brokers.client(1) as client:
        brokers.done("lag", broker=2, ms=20_000)
        brokers.done("hold", broker=2)
        assert created(client, "orders") == {"orders": 0}


def test_a_fenced_broker_is_not_in_metadata() -> None:
    """F590-02: as one that is dead to the cluster."""
    with served() as brokers, brokers.client(1) as client:
        brokers.done("fence", broker=2)
        found = client.ask("Metadata", 12, messages.MetadataRequest(topics=[]))
        assert [broker.node_id for broker in found.brokers] == [1, 3]
        brokers.done("unfence", broker=2)
        found = client.ask("Metadata", 12, messages.MetadataRequest(topics=[]))
        assert [broker.node_id for broker in found.brokers] == [1, 2, 3]


def test_acls_may_be_later_than_topics() -> None:
    """A4-103: as with the proposal's brokers; one log for all, as KRaft has it, by default."""
    with (
        served(compat=Compat.KRAFT, rights=()) as brokers,
        brokers.client(1, "User:a") as alice,
    ):
        brokers.done("lag", broker=1, acls_ms=60_000)
        root = admin(brokers.embedded, "User:root")
        grant = a_grant(Operation.DESCRIBE, ResourceType.TOPIC, "orders", "User:a")
        assert all(result.ok for result in root.create_acls([grant]))
        assert root.create_topics([a_new_topic()])["orders"].ok
        assert seen(alice, "orders") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        brokers.done("lag", broker=1)
        assert seen(alice, "orders") == 0


def test_views_are_images_of_the_log_and_nothing_else() -> None:
    """A4-103, F590-01: each one that a broker sees was the controller's at some time."""
    cluster = a_cluster(brokers=1)
    controller = cluster.controller
    now = [0.0]
    views = BrokerViews(controller.image, Lag(seconds=10), lambda: now[0])
    images = [controller.image()]
    for number in range(5):
        now[0] += 4
        admin(cluster).create_topics([a_new_topic(f"t{number}")])
        views.note()
        images.append(controller.image())
    # Written at 4, 8, 12, 16 and 20; at 20 all up to 10 can be seen.
    assert views.of(1) is images[2]
    now[0] = 25.9
    assert views.of(1) is images[3]
    now[0] = 26
    assert views.of(1) is images[4]
    views.hold(1)
    now[0] = 99
    assert views.of(1) is images[4]
    assert views.seconds_until_seen([1]) == 0
    views.release(1)
    assert views.of(1) is images[5]
    assert views.seconds_until_seen([1]) == 10
    assert len(views._seen) == 1
    cluster.close()
