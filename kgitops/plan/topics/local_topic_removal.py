"""Plans topics of virtual clusters that are no longer declared: unlinks, forgets, deletes them."""

from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Kind, PlannedRequest, Precondition
from kgitops.plan.document.risks import Risk
from kgitops.plan.normal_form import link_view, topic_view
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import Removal, RemovalKind
from kgitops.plan.topics.local_topics import LocalTopics
from kgitops.plan.topics.steps import delete_steps
from kgitops.plan.usage import topic_impact


def remove_local(local_topics: LocalTopics, removal: Removal) -> None:
    """Plan a managed topic of a virtual cluster that is no longer declared."""
    context, last = local_topics.context, removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    link = local_topics.link(local)
    applied = local_topics.applied(removal.address)
    state = context.current.topics.get(link.topic) if link else applied
    if state is None:
        _forget(context, removal, None, None, "; it is already gone from the cluster")
    elif state.topic_id != removal.owner.topic_id:
        # Somebody relinked the name: the other topic is unmanaged, so it stays, and its link too.
        _forget(context, removal, None, state, "; the topic of that name is another one now")
    elif local in local_topics.replaced:
        _hand_over(context, removal, local, state)
    elif removal.kind is RemovalKind.DELETE:
        if link:
            _unlink(context, removal, local, link)
        _delete(context, removal, local, state)
    elif link and last["deletionPolicyWritten"]:
        _forget(context, removal, local, state, "")
    else:
        # An adopted topic had its link before: both stay.
        _forget(context, removal, None, state, "")


def _hand_over(context: PlanContext, removal: Removal, local: LocalName, state: TopicState) -> None:
    """Plan the removal of a topic whose link a TopicLink takes over in one step (VC-403a)."""
    if removal.kind is RemovalKind.DELETE:
        context.draft.findings.append(
            Finding(
                source=removal.source,
                problem=f"{removal.address} is to be deleted while a TopicLink takes its name",
                advice="delete the topic and apply, then declare the TopicLink; or apply the "
                "topic with deletionPolicy: Orphan first",
            )
        )
        return
    _forget(context, removal, None, state, f"; a TopicLink has the name {local} from now on")


def _forget(
    context: PlanContext,
    removal: Removal,
    unlinked: LocalName | None,
    state: TopicState | None,
    why: str,
) -> None:
    """Forget the topic, and remove its link if ``unlinked`` names it; the records stay."""
    expects = _expects(removal, state)
    requests = chain([_removing(unlinked)], expects) if unlinked else ()
    _add(
        context,
        removal,
        state,
        action=Action.FORGET,
        risk=risks.TOPIC_UNLINK if unlinked else risks.TOPIC_FORGET,
        because=f"{removal.because}{why}",
        expects=expects,
        requests=requests,
    )


def _unlink(context: PlanContext, removal: Removal, local: LocalName, link: TopicLink) -> None:
    """Remove the link first, by a change of its own: others may have links to the topic as well."""
    address = member_address(local.virtual_cluster, EntityType.TOPIC, local.name)
    at_link = Precondition(
        object=address,
        exists=True,
        owner=context.owner_label(address),
        fields={"topic": link.topic},
    )
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.LINK,
            actions=(Action.DELETE,),
            risks=(risks.LINK_REMOVE,),
            because=f"{removal.because}, and this is its name",
            source=removal.source,
            before=link_view(local, link.topic, None),
            after=None,
            preconditions=(at_link,),
            requests=chain([_removing(local)], at_link),
            derived_from=(removal.address,),
        )
    )


def _delete(context: PlanContext, removal: Removal, local: LocalName, state: TopicState) -> None:
    expects = _expects(removal, state)
    _add(
        context,
        removal,
        state,
        action=Action.DELETE,
        risk=risks.TOPIC_DELETE,
        because=removal.because,
        expects=expects,
        requests=delete_steps(state, expects, local),
    )


def _expects(removal: Removal, state: TopicState | None) -> Precondition:
    return Precondition(
        object=removal.address,
        exists=state is not None,
        topic_id=state.topic_id if state else None,
        owner=removal.owner.project,
    )


def _add(
    context: PlanContext,
    removal: Removal,
    state: TopicState | None,
    *,
    action: Action,
    risk: Risk,
    because: str,
    expects: Precondition,
    requests: tuple[PlannedRequest, ...],
) -> None:
    context.draft.changes.append(
        Change(
            address=removal.address,
            kind=Kind.TOPIC,
            actions=(action,),
            risks=(risk,),
            because=because,
            source=removal.source,
            before=topic_view(state) if state else None,
            after=topic_view(state) if state and action is Action.FORGET else None,
            preconditions=(expects,),
            requests=requests,
            owner_before=removal.owner,
            owner_after=removal.owner_after,
            impact=topic_impact(state, context.current.usage.get(state.name)) if state else {},
        )
    )


def _removing(local: LocalName) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
    )
