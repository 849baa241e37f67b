"""Links that are no longer declared: out of the virtual cluster, with their topics kept."""

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.virtual_clusters import ChangeType, EntityType, LocalName
from kgitops.plan import risks
from kgitops.plan.normal_form import link_view
from kgitops.plan.plan import Action, Change, Kind, Precondition
from kgitops.plan.planning import Planning
from kgitops.plan.removal import Fate, Removal
from kgitops.plan.topic_steps import chain


def remove_link(planning: Planning, removal: Removal) -> None:
    """Plan that it goes; one that is not there any more is only forgotten."""
    last = removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    found = planning.current.link(local)
    delete = removal.fate is Fate.DELETE and found is not None
    gone = "" if found else "; it is already gone from the cluster"
    expects = Precondition(
        object=removal.address,
        exists=found is not None,
        owner=removal.owner.project,
        fields={"topic": found.topic} if found else {},
    )
    view = link_view(local, found.topic, None) if found else None
    request = AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
    )
    planning.outcome.changes.append(
        Change(
            address=removal.address,
            kind=Kind.LINK,
            actions=(Action.DELETE if delete else Action.FORGET,),
            risks=(risks.LINK_REMOVE if delete else risks.LINK_FORGET,),
            because=f"{removal.because}{gone}",
            source=removal.source,
            before=view,
            after=None if delete else view,
            preconditions=(expects,),
            requests=chain([request], expects) if delete else (),
            owner_before=removal.owner,
            owner_after=removal.owner_after,
        )
    )
