"""Builders for tests of policies: a state, a request and a verdict in five lines, no cluster.

::

    def test_orders_are_protected() -> None:
        refused = violation(Protected(), delete_topic("orders"), cluster(topic("orders")))
        assert refused is not None
        assert "orders" in refused.message

What a request leaves behind is computed as a cluster would: ``configs`` of an altered topic are
its true configs afterwards, and a key that is set to None is removed (P201-25…27).
"""

from kgitops.policy.building import acl, virtual_cluster
from kgitops.policy.testing.requests import Assignments as Assignments
from kgitops.policy.testing.requests import (
    alter_broker,
    alter_client_metrics,
    alter_client_quota,
    alter_consumer_group_offsets,
    alter_group_configs,
    alter_topic,
    alter_user_scram_credentials,
    alter_virtual_cluster,
    cluster,
    create_acl,
    create_topic,
    create_topic_link,
    create_virtual_cluster,
    delete_acl,
    delete_consumer_group,
    delete_records,
    delete_topic,
    delete_topic_link,
    delete_virtual_cluster,
    entity,
    labelled,
    topic,
    violation,
)

__all__ = [
    "acl",
    "alter_broker",
    "alter_client_metrics",
    "alter_client_quota",
    "alter_consumer_group_offsets",
    "alter_group_configs",
    "alter_topic",
    "alter_user_scram_credentials",
    "alter_virtual_cluster",
    "cluster",
    "create_acl",
    "create_topic",
    "create_topic_link",
    "create_virtual_cluster",
    "delete_acl",
    "delete_consumer_group",
    "delete_records",
    "delete_topic",
    "delete_topic_link",
    "delete_virtual_cluster",
    "entity",
    "labelled",
    "topic",
    "violation",
    "virtual_cluster",
]
