"""Groups that there are already under the physical ids that new groups would get (VC-117)."""

from dataclasses import replace

from kgitops.cluster.port import Cluster
from kgitops.model.cluster_state import ClusterState, VirtualClusterSupport
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, physical_id
from kgitops.model.source import Finding, Severity
from kgitops.plan.document.plan import Plan


def with_group_collisions(cluster: Cluster, current: ClusterState, plan: Plan) -> Plan:
    """The plan, and a warning for each group of a new virtual cluster that is there already.

    Only of a virtual cluster that is not there yet can a Kafka without them tell: later the same id
    is what its own members use (VC-113). Where nothing is asked for nothing is read.

    Raises:
        UnreachableError: the cluster can't be reached.
    """
    if cluster.capabilities.virtual_clusters is not VirtualClusterSupport.LOWERED:
        return plan
    asked = {
        physical_id(request.virtual_cluster, request.entity_name): change
        for change in plan.changes
        for request in (planned.request for planned in change.requests)
        if isinstance(request, AlterVirtualClusterRequest)
        and request.entity_type is EntityType.GROUP
        and request.change is ChangeType.ADD
        and request.entity_name is not None
        and request.virtual_cluster not in current.virtual_clusters
    }
    if not asked:
        return plan
    there = cluster.read_group_offsets(frozenset(asked))
    found = [
        Finding(
            source=asked[group].source,
            problem=f"GROUP_NAME_COLLISION: there is a group {group} already, outside of any "
            f"virtual cluster, whose offsets would be those of {asked[group].address}",
            advice="leave it if it was this virtual cluster's before, else delete it if nobody "
            "needs it, or give the virtual cluster or the group another name",
            severity=Severity.WARNING,
        )
        for group in sorted(asked)
        if group in there
    ]
    return replace(plan, warnings=(*plan.warnings, *found))
