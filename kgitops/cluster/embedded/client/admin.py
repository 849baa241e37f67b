"""The admin surface of the embedded cluster, in process: Kafka's calls as one principal makes them.

The port asks for logical requests only. This is the whole of it, per item and per version, as the
brokers of spec §3 answer: for policies' tests, for people who explore, and for this package's own.

A caller whose user, or else whose client id, is bound to a virtual cluster speaks of everything by
local names and is answered in them (VC-249). Not modelled, and so refused by being absent: produce
and fetch, WriteTxnMarkers, log directories, SCRAM credentials (a right on a virtual cluster would
be one on the users that are bound to it only, VC-160c), quorum and broker requests, delegation
tokens (whoever uses one acts as its owner, VC-094).
"""

from kgitops.cluster.embedded.client.calls.acls import AclCalls
from kgitops.cluster.embedded.client.calls.configs import ConfigCalls
from kgitops.cluster.embedded.client.calls.groups import GroupCalls
from kgitops.cluster.embedded.client.calls.partitions import PartitionCalls
from kgitops.cluster.embedded.client.calls.quotas import QuotaCalls
from kgitops.cluster.embedded.client.calls.topics import TopicCalls
from kgitops.cluster.embedded.client.virtual_clusters import VirtualClustersAdmin


class EmbeddedAdmin(
    TopicCalls,
    ConfigCalls,
    PartitionCalls,
    AclCalls,
    QuotaCalls,
    GroupCalls,
    VirtualClustersAdmin,
):
    """A connection of one principal to an embedded cluster."""
