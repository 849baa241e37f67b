"""Plans topic links: compares the declared topic of each local name with its current one."""

from collections.abc import Iterable

from kgitops.model.json.declared import DesiredLink, DesiredTopic
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import local_topic_address, member_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext
from kgitops.plan.document.plan import Basis, Drift
from kgitops.plan.engine import KindPlanner
from kgitops.plan.normal_form import link_view
from kgitops.plan.ownership import OwnershipStatus
from kgitops.plan.removal import Removal, remove_whole
from kgitops.plan.topics.local_topics import belongs_to_topic, describe_lost_topic
from kgitops.plan.virtual_clusters.link_targets import LinkDestination, LinkTargets


class LinkPlanner(KindPlanner[DesiredLink]):
    """The topic that each local name leads to."""

    declares = DesiredLink

    def __init__(self, context: PlanContext) -> None:
        super().__init__(context)
        self._targets = LinkTargets(context.desired, context.current)

    def existing(self) -> Iterable[str]:
        """Return the addresses of all links but those of topics."""
        topics = frozenset(topic.address for topic in self.context.desired.of(DesiredTopic))
        for virtual_cluster in self.current.virtual_clusters.values():
            for name in virtual_cluster.links:
                local = LocalName(virtual_cluster.name, name)
                if not belongs_to_topic(self.context, local, topics):
                    yield member_address(local.virtual_cluster, EntityType.TOPIC, local.name)

    def fits(self, item: DesiredLink) -> bool:
        """Return whether its virtual cluster exists, or is created by this plan."""
        at = item.located.at("metadata", "virtualCluster")
        return self.context.has_virtual_cluster(item.virtual_cluster, at, item.address)

    def plan_one(self, item: DesiredLink) -> None:
        """Add the link, keep it or let it lead to another topic."""
        destination = self._targets.of(item)
        if isinstance(destination, Finding):
            self.context.draft.findings.append(destination)
        else:
            self._plan(item, destination)

    def _plan(self, link: DesiredLink, destination: LinkDestination) -> None:
        context = self.context
        current = context.current.link(link.local)
        if current is None:
            context.change(link, Kind.LINK, [_request(link, destination)])
            return
        topic = local_topic_address(link.local)
        if context.ownership.status(topic) in (
            OwnershipStatus.FOREIGN,
            OwnershipStatus.TRANSFERABLE,
        ):
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
            context.change(
                link,
                Kind.LINK,
                before=link_view(link.local, current.topic, None),
                expects=context.expect(link.address, fields={"topic": current.topic}),
            )
            return
        self._retarget(link, current, destination)

    def _retarget(
        self, link: DesiredLink, current: TopicLink, destination: LinkDestination
    ) -> None:
        """Change the topic of a link in one step, so that the name always exists (VC-028)."""
        context = self.context
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
        context.change(
            link,
            Kind.LINK,
            [_request(link, destination, replaces=current.topic)],
            owner_after=context.record_after(link, adopts=adopts),
            before=link_view(link.local, current.topic, None),
            expects=context.expect(link.address, fields={"topic": current.topic}),
            basis=Basis(handed_over=of_topic and not mine),
        )

    def remove_one(self, removal: Removal) -> None:
        """Plan the removal of a link; one that no longer exists is only forgotten."""
        last = removal.owner.last_applied
        local = LocalName(last["virtualCluster"], last["name"])
        current = self.current.link(local)
        remove_whole(
            self.context,
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
