"""The admin client: one class with the calls of all families."""

from kgitops.cluster.embedded.client.acls import AclCalls
from kgitops.cluster.embedded.client.configs import ConfigCalls
from kgitops.cluster.embedded.client.groups.groups import GroupCalls
from kgitops.cluster.embedded.client.groups.offsets import OffsetCalls
from kgitops.cluster.embedded.client.partitions import PartitionCalls
from kgitops.cluster.embedded.client.quotas import QuotaCalls
from kgitops.cluster.embedded.client.scram import ScramCalls
from kgitops.cluster.embedded.client.topics import TopicCalls
from kgitops.cluster.embedded.client.transactions import TransactionCalls
from kgitops.cluster.embedded.client.virtual_clusters import VirtualClusterCalls


class EmbeddedAdmin(
    TopicCalls,
    ConfigCalls,
    PartitionCalls,
    AclCalls,
    QuotaCalls,
    ScramCalls,
    GroupCalls,
    OffsetCalls,
    TransactionCalls,
    VirtualClusterCalls,
):
    """A connection of one principal to an embedded cluster."""
