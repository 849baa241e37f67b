"""Tests of orders.py, without Java and without Docker.

uv run --group test pytest examples/serve
"""

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from orders import add_up, place

from kgitops.testing import ClusterForTests, cluster_fixture

kafka = cluster_fixture(Path(__file__).parent, apply=True)


def test_orders_are_added_up_by_customer(kafka: ClusterForTests) -> None:
    place(kafka.bootstrap_servers, {"ada": 3, "grace": 5})
    assert add_up(kafka.bootstrap_servers, 2) == {"ada": 3, "grace": 5}
    place(kafka.bootstrap_servers, {"ada": 1})
    assert add_up(kafka.bootstrap_servers, 1) == {"ada": 1}


def test_the_topic_is_as_it_is_declared(kafka: ClusterForTests) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert len(admin.list_topics(timeout=30).topics["orders"].partitions) == 6


def test_a_topic_that_breaks_a_policy_is_refused(kafka: ClusterForTests) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    asked = admin.create_topics([NewTopic("clicks", num_partitions=500, replication_factor=3)])
    with pytest.raises(KafkaException, match="clicks has 500 partitions; at most 12 are allowed"):
        asked["clicks"].result(30)
