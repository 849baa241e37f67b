"""Plans topic links: compares the declared topic of each local name with its current one."""

from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredLink
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import local_topic_address, member_address
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Drift, Kind
from kgitops.plan.draft import PlanDraft
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import link_view
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.removal import Removal, find_removals, remove_whole
from kgitops.plan.topics.local_topics import belongs_to_topic, describe_lost_topic
from kgitops.plan.virtual_clusters.link_targets import LinkDestination, LinkTargets


def plan_links(desired: DesiredState, current: ClusterState, ownership: Ownership) -> PlanDraft:
    """Plan every difference between the declared links and the cluster's."""
    context = PlanContext(
        desired=desired,
        current=current,
        ownership=ownership,
        links=index_links(desired, current),
    )
    targets = LinkTargets(desired, current)
    for link in desired.links:
        at = link.located.at("metadata", "virtualCluster")
        if context.may_plan(link) and context.has_virtual_cluster(
            link.local.virtual_cluster, at, link.address
        ):
            destination = targets.of(link)
            if isinstance(destination, Finding):
                context.draft.findings.append(destination)
            else:
                _plan(context, link, destination)
    declared = frozenset(link.address for link in desired.links)
    for removal in find_removals(("link",), declared, context):
        _remove(context, removal)
    topics = frozenset(topic.address for topic in desired.topics)
    names = (
        LocalName(virtual_cluster.name, name)
        for virtual_cluster in current.virtual_clusters.values()
        for name in virtual_cluster.links
    )
    listed = (_address(local) for local in names if not belongs_to_topic(context, local, topics))
    context.keep_others(dict.fromkeys(listed), declared)
    return context.draft


def _address(local: LocalName) -> str:
    return member_address(local.virtual_cluster, EntityType.TOPIC, local.name)


def _plan(context: PlanContext, link: DesiredLink, destination: LinkDestination) -> None:
    current = context.current.link(link.local)
    if current is None:
        _add(context, link, destination)
        return
    topic = local_topic_address(link.local)
    if context.ownership.status(topic) in (OwnershipStatus.FOREIGN, OwnershipStatus.TRANSFERABLE):
        context.draft.refuse(
            f"{link.located.source}: {link.local} is the topic {topic} of the project "
            f"{context.ownership.label(topic)!r}; give the link another name"
        )
        return
    if destination.topic == current.topic:
        lost = describe_lost_topic(
            context, link.address, current, context.current.topics.get(current.topic)
        )
        if lost:
            context.draft.findings.append(
                Finding(
                    source=link.located.source,
                    problem=f"{link.local} {lost}",
                    advice="look at what is there now; then remove the link, apply, and add it "
                    "again",
                )
            )
            return
        context.adopt_or_update(
            link,
            Kind.LINK,
            (),
            before=link_view(link.local, current.topic, None),
            expects=context.expect(link.address, fields={"topic": current.topic}),
        )
        return
    _retarget(context, link, current, destination)


def _add(context: PlanContext, link: DesiredLink, destination: LinkDestination) -> None:
    context.create(link, Kind.LINK, [_request(link, destination)])


def _retarget(
    context: PlanContext, link: DesiredLink, current: TopicLink, destination: LinkDestination
) -> None:
    """Change the topic of a link in one step, so that the name always exists (VC-028)."""
    mine = not context.adopts(link.address)
    # The link of a Topic that this project gives up is taken over (VC-403a).
    of_topic = not context.adopts(local_topic_address(link.local))
    adopts = not mine and not of_topic
    last = context.ownership.last_applied(link.address).get("topic")
    if last and last != current.topic:
        context.draft.drift.append(
            Drift(
                address=link.address,
                path="topic",
                last_applied=last,
                found=current.topic,
                rule="restored",
            )
        )
    context.update(
        link,
        Kind.LINK,
        [_request(link, destination, replaces=current.topic)],
        owner_after=context.record_after(link, adopts=adopts),
        before=link_view(link.local, current.topic, None),
        expects=context.expect(link.address, fields={"topic": current.topic}),
        basis=Basis(handed_over=of_topic and not mine),
    )


def _request(
    link: DesiredLink, destination: LinkDestination, replaces: str | None = None
) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=link.local.virtual_cluster,
        entity_type=EntityType.TOPIC,
        entity_name=link.local.name,
        topic=destination.topic,
        target=None if destination.topic else destination.follows,
        replaces=replaces,
    )


def _remove(context: PlanContext, removal: Removal) -> None:
    """Plan the removal of a link; one that no longer exists is only forgotten."""
    last = removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    current = context.current.link(local)
    remove_whole(
        context,
        removal,
        Kind.LINK,
        AlterVirtualClusterRequest(
            virtual_cluster=local.virtual_cluster,
            change=ChangeType.REMOVE,
            entity_type=EntityType.TOPIC,
            entity_name=local.name,
        ),
        before=link_view(local, current.topic, None) if current else None,
        expected={"topic": current.topic} if current else {},
    )
