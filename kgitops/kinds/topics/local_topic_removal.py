"""Plans topics of virtual clusters that are no longer declared: unlinks, forgets, deletes them."""

from msgspec.structs import replace

from kgitops.kinds.topics.local_topics import LocalTopics
from kgitops.kinds.topics.steps import delete_request
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import member_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Change
from kgitops.plan.draft import chain
from kgitops.plan.normal_form import link_view, topic_view
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.usage import measured


def remove_local(local_topics: LocalTopics, removal: Removal) -> None:
    """Plan a managed topic of a virtual cluster that is no longer declared."""
    context, last = local_topics.context, removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    link = local_topics.link(local)
    applied = local_topics.applied(removal.address)
    state = context.current.topics.get(link.topic) if link else applied
    if state is None or state.topic_id != removal.owner.topic_id:
        # Somebody relinked the name: the other topic is unmanaged, so it stays, and its link too.
        _forget(context, removal, None, state)
    elif local in local_topics.replaced:
        _hand_over(context, removal, state)
    elif removal.kind is RemovalKind.DELETE:
        if link:
            _unlink(context, removal, local, link)
        _delete(context, removal, local, state)
    elif link and last["deletionPolicyWritten"]:
        _forget(context, removal, local, state)
    else:
        # An adopted topic had its link before: both stay.
        _forget(context, removal, None, state)


def _hand_over(context: PlanContext, removal: Removal, state: TopicState) -> None:
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
    _forget(context, removal, None, state, handed_over=True)


def _forget(
    context: PlanContext,
    removal: Removal,
    unlinked: LocalName | None,
    state: TopicState | None,
    *,
    handed_over: bool = False,
) -> None:
    """Forget the topic, and remove its link if ``unlinked`` names it; the records stay."""
    remove(
        context,
        removal,
        Kind.TOPIC,
        [_removing(unlinked)] if unlinked else (),
        before=topic_view(state) if state else None,
        topic_id=state.topic_id if state else None,
        basis=replace(_basis(context, state), handed_over=handed_over),
    )


def _unlink(context: PlanContext, removal: Removal, local: LocalName, link: TopicLink) -> None:
    """Remove the link first, by a change of its own: others may have links to the topic as well."""
    address = member_address(local.virtual_cluster, EntityType.TOPIC, local.name)
    expects = context.expect(address, fields={"topic": link.topic})
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.LINK,
            source=removal.source,
            before=link_view(local, link.topic, None),
            preconditions=(expects,),
            requests=chain([_removing(local)], expects),
            derived_from=(removal.address,),
        )
    )


def _delete(context: PlanContext, removal: Removal, local: LocalName, state: TopicState) -> None:
    remove(
        context,
        removal,
        Kind.TOPIC,
        [delete_request(state, local)],
        before=topic_view(state),
        topic_id=state.topic_id,
        basis=_basis(context, state),
    )


def _basis(context: PlanContext, state: TopicState | None) -> Basis:
    usage = context.current.usage.get(state.name) if state else None
    return Basis(measured=measured(usage))


def _removing(local: LocalName) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
    )
