"""Links that are no longer declared: out of the virtual cluster, with their topics kept."""

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan.context import Planning
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Kind
from kgitops.plan.normal_form import link_view
from kgitops.plan.removal import Removal, removed


def remove_link(planning: Planning, removal: Removal) -> None:
    """Plan that it goes; one that is not there any more is only forgotten."""
    last = removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    found = planning.current.link(local)
    request = AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
    )
    planning.outcome.changes.append(
        removed(
            removal,
            Kind.LINK,
            link_view(local, found.topic, None) if found else None,
            request,
            deleted=risks.LINK_REMOVE,
            forgotten=risks.LINK_FORGET,
            fields={"topic": found.topic} if found else {},
        )
    )
