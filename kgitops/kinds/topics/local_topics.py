"""Topics that are declared in a virtual cluster: a physical topic, and the link with its name.

``vc/v/topic/N`` is found by the link N of v, else by the topic id that was last applied. One that
is no longer declared is unlinked, forgotten or deleted.
"""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from kgitops.kinds.topics.alter import delete_request
from kgitops.model.json.declared import DesiredLink, DesiredTopic
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import local_topic_address, member_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    generated_parts,
)
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext, local_name, selected
from kgitops.plan.document.plan import Basis, Change, Drift
from kgitops.plan.draft import chain
from kgitops.plan.normal_form import link_view, topic_view
from kgitops.plan.ownership import OwnershipStatus
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.usage import measured


class LocalTopicState(Struct, frozen=True, kw_only=True):
    """The current topic, None if it is to be created; ``relink`` restores its link."""

    state: TopicState | None = None
    relink: AlterVirtualClusterRequest | None = None


class LocalTopics:
    """Finds topics of virtual clusters by the names under which they are declared."""

    def __init__(self, context: PlanContext) -> None:
        self.context = context

    def link(self, local: LocalName) -> TopicLink | None:
        """Return the current link of that name."""
        return self.context.current.link(local)

    def find(self, topic: DesiredTopic) -> LocalTopicState | None:
        """Find the physical topic of a declared one; None, with a finding, if it is unclear."""
        local = local_name(topic)
        link = self.link(local) if local else None
        if local is None:
            return None
        if link is None:
            state = self.applied(topic.address)
            if state is None:
                return LocalTopicState()
            # Somebody removed only the link: the records are still there (VC-031).
            return LocalTopicState(state=state, relink=_adding(local, state.name))
        state = self.context.current.topics.get(link.topic)
        problem = self._mismatch(topic, local, link, state)
        if problem:
            self.context.draft.findings.append(problem)
            return None
        return LocalTopicState(state=state)

    def addresses(self, declared: frozenset[str]) -> Mapping[str, str]:
        """Return the addresses of topics that are declared or managed in a virtual cluster.

        The key is the physical name.
        """
        return {
            link.topic: local_topic_address(LocalName(virtual_cluster.name, link.name))
            for virtual_cluster in self.context.current.virtual_clusters.values()
            for link in virtual_cluster.links.values()
            if belongs_to_topic(self.context, LocalName(virtual_cluster.name, link.name), declared)
        }

    @cached_property
    def replaced(self) -> frozenset[LocalName]:
        """Local names that declared TopicLinks take."""
        desired = self.context.desired
        return frozenset(
            link.local for link in desired.of(DesiredLink) if selected(desired, link.address)
        )

    def applied(self, address: str) -> TopicState | None:
        """Return the topic that this project applied, even if its link is gone."""
        owner = self.context.ownership.owner(address)
        mine = self.context.ownership.status(address) is OwnershipStatus.MINE
        return self._by_id.get(owner.topic_id or "") if owner and mine else None

    @cached_property
    def _by_id(self) -> Mapping[str, TopicState]:
        return {state.topic_id or "": state for state in self.context.current.topics.values()}

    def _mismatch(
        self, topic: DesiredTopic, local: LocalName, link: TopicLink, state: TopicState | None
    ) -> Finding | None:
        """Explain why the link is not that of the declared topic; None if it is."""
        ownership = self.context.ownership
        of_link = ownership.status(
            member_address(local.virtual_cluster, EntityType.TOPIC, local.name)
        )
        where = topic.located.at("metadata", "name")
        if of_link not in (OwnershipStatus.UNMANAGED, OwnershipStatus.TOMBSTONED):
            return Finding(
                source=where,
                problem=f"{local} is a TopicLink, which leads to the topic {link.topic}, and a new "
                "topic can't take its place in one step",
                advice="remove the TopicLink and apply, then declare the Topic; or declare the "
                "Topic under another name",
            )
        owner = ownership.owner(topic.address)
        mine = ownership.status(topic.address) is OwnershipStatus.MINE
        applied = owner.topic_id if owner and mine else None
        lost = describe_lost_topic(self.context, topic.address, link, state, applied)
        if lost:
            return Finding(
                source=where,
                problem=f"{local} {lost}",
                advice="look at what is there now; then remove the document, apply, and declare "
                "it again",
            )
        parts = generated_parts(link.topic)
        if not mine and (parts is None or parts[1] != local.name):
            return Finding(
                source=where,
                problem=f"{local} is a link to the topic {link.topic}, which was not made there",
                advice="declare a TopicLink in the place of the Topic",
            )
        return None


def belongs_to_topic(context: PlanContext, local: LocalName, declared: frozenset[str]) -> bool:
    """True if a link is the name of a topic that is declared or managed in a virtual cluster."""
    address = local_topic_address(local)
    owner = context.ownership.owner(address)
    return address in declared or (owner is not None and not owner.spent)


def describe_lost_topic(
    context: PlanContext,
    address: str,
    link: TopicLink,
    state: TopicState | None,
    applied: str | None = None,
) -> str | None:
    """Describe a lost or replaced topic behind a link, and report the drift (VC-047).

    None if it is the same topic.
    """
    expected_ids = {item for item in (link.topic_id, applied) if item is not None}
    current_id = state.topic_id if state else None
    if state is not None and expected_ids <= {current_id}:
        return None
    context.draft.drift.append(
        Drift(
            address=address,
            path="topic_id",
            last_applied=applied or link.topic_id,
            found=current_id,
            rule="missing" if state is None else "recreated",
        )
    )
    if state is None:
        return f"leads to the topic {link.topic}, which is gone from the cluster"
    return (
        f"led to another topic than {link.topic} is now (TOPIC_REPLACED): its id was "
        f"{applied or link.topic_id} and is {current_id}"
    )


def _adding(local: LocalName, topic: str) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
        topic=topic,
    )


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
