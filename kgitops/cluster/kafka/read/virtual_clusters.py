"""ListVirtualClusters and DescribeVirtualClusters: what is in them."""

from collections.abc import Mapping

from msgspec.structs import replace

from kgitops.cluster.kafka.answers import LOOK_MS, unreadable_error
from kgitops.cluster.kafka.transport.virtual_cluster_requests import send
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import ClusterState
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster
from kgitops.model.results import ErrorCode
from kgitops.wire import messages


def read_virtual_clusters(wire: Wire) -> Mapping[str, VirtualCluster]:
    """Read the virtual clusters that this principal may see, by name; links have no topic ids.

    Raises:
        UnreachableError: one of them can't be read, or the principal may not read it.
    """
    request = messages.ListVirtualClustersRequest()
    listed = send(wire, "ListVirtualClusters", request, timeout_ms=LOOK_MS, may_repeat=True)
    if listed.error_code:
        api = "ListVirtualClusters"
        raise unreadable_error(wire, api, "the virtual clusters", listed.error_code)
    names = sorted(row.name for row in listed.virtual_clusters)
    if not names:
        return {}
    asked = messages.DescribeVirtualClustersRequest
    described = send(
        wire,
        "DescribeVirtualClusters",
        asked(virtual_clusters=[asked.VirtualClusterData(name=name) for name in names]),
        timeout_ms=LOOK_MS,
        may_repeat=True,
    )
    found: dict[str, VirtualCluster] = {}
    for row in described.virtual_clusters:
        if row.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue  # it went after the names were listed
        if row.error_code:
            api, what = "DescribeVirtualClusters", f"the virtual cluster {row.name}"
            raise unreadable_error(wire, api, what, row.error_code, on=what)
        found[row.name] = _virtual_cluster(row)
    return found


def with_virtual_clusters(state: ClusterState, found: Mapping[str, VirtualCluster]) -> ClusterState:
    """The state with these virtual clusters, and in their links the ids of its topics."""
    return replace(
        state,
        virtual_clusters={
            name: replace(
                virtual_cluster,
                links={
                    link.name: replace(link, topic_id=state.topics[link.topic].topic_id)
                    if link.topic in state.topics
                    else link
                    for link in virtual_cluster.links.values()
                },
            )
            for name, virtual_cluster in found.items()
        },
    )


def _virtual_cluster(row: Message) -> VirtualCluster:
    return VirtualCluster(
        name=row.name,
        links={
            link.link_name: TopicLink(name=link.link_name, topic=link.physical_name)
            for link in row.topic_links
        },
        users=frozenset(row.users),
        client_ids=frozenset(row.client_ids),
        groups=dict.fromkeys(row.consumer_groups),
        transactional_ids=frozenset(row.transactional_ids),
    )
