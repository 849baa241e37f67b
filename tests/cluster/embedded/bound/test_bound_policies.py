"""What brokers' policies are asked about the requests of callers in a virtual cluster."""

from dataclasses import dataclass, field

from cluster.clusters import a_new_topic
from cluster.embedded.bound.tenancies import SALES, change, connect, execute, link
from cluster.policing import Recorder, policed

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.model.requests import CreateVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import EntityType, LocalName
from kgitops.model.results import ErrorCode
from kgitops.policy import PolicyViolation
from kgitops.policy.api.interfaces import VirtualClusterManagementPolicy

ORDERS = LocalName(SALES, "orders")
CHANGE = [
    (ConfigResource(type="topic", name="orders"), [AlterConfig(key="retention.ms", value="9")])
]


@dataclass
class Recording(Recorder, VirtualClusterManagementPolicy):
    """Records which links are deleted too; refuses to where ``keeps_links``."""

    keeps_links: bool = False
    unlinked: list[tuple[str, str]] = field(default_factory=list)

    def validate_create_virtual_cluster(self, request, cluster_state):
        """Accepts."""

    def validate_alter_virtual_cluster(self, request, cluster_state):
        """Accepts."""

    def validate_delete_virtual_cluster(self, request, cluster_state):
        """Accepts."""

    def validate_create_topic_link(self, request, cluster_state):
        """Accepts."""

    def validate_delete_topic_link(self, request, cluster_state):
        """Keeps what was asked."""
        self.unlinked.append((request.link, request.topic))
        if self.keeps_links:
            raise PolicyViolation(f"{request.topic} keeps its links")


def with_orders(policy: Recording) -> EmbeddedCluster:
    """A cluster where ``User:a`` calls the topic ``physical`` ``orders``."""
    cluster = policed(policy, topics=["physical"])
    execute(cluster, CreateVirtualClusterRequest(virtual_cluster=SALES))
    link(cluster, SALES, "orders", "physical")
    change(cluster, SALES, EntityType.USER, "User:a")
    policy.calls.clear()
    return cluster


def test_policies_are_told_both_names():
    """VC-065: of each call that a bound caller makes about a topic."""
    policy = Recording()
    cluster = with_orders(policy)
    cluster.produce("physical", 0, 5, 1)
    a = connect(cluster)
    assert a.create_partitions([NewPartitions(topic="orders", count=9)])["orders"].ok
    assert all(result.ok for result in a.incremental_alter_configs(CHANGE).values())
    assert a.delete_records({("orders", 0): 2})["orders", 0].result.ok
    assert [(item.topic, item.local) for item in policy.requests] == [("physical", ORDERS)] * 3
    made = a.create_topics([a_new_topic("new")])["new"]
    assert made.ok
    assert policy.requests[-1].local == LocalName(SALES, "new")
    assert a.delete_topics(["orders"])["orders"].ok
    assert policy.unlinked == [("orders", "physical")]


def test_a_denial_is_told_in_local_words_and_nothing_is_done():
    """VC-065, VC-249: as a policy may name the physical topic."""
    policy = Recording(keeps_links=True, says=lambda request, _: f"{request.topic} stays as it is")
    cluster = with_orders(policy)
    a = connect(cluster)
    partitions = a.create_partitions([NewPartitions(topic="orders", count=9)])
    configs = a.incremental_alter_configs(CHANGE)
    deleted = a.delete_topics(["orders"])
    for result in (partitions["orders"], *configs.values(), deleted["orders"]):
        assert result.code is ErrorCode.POLICY_VIOLATION
        assert "physical" not in (result.message or "")
        assert "orders" in (result.message or "")
    assert cluster.read_state().virtual_clusters[SALES].links.keys() == {"orders"}
