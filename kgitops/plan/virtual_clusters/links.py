"""Plans topic links: compares the declared topic of each local name with its current one."""

from kgitops.desired.state import DesiredLink, DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.registry import Json
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.addresses import local_topic_address, member_address
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType, LocalName, TopicLink
from kgitops.model.source import Finding
from kgitops.plan.context import (
    PlanContext,
    PlanDraft,
    because_adopted,
    because_remembered,
    protection_fields,
    registry_fields,
    takeover_risks,
)
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Change, Drift, FieldChange, Kind, Precondition
from kgitops.plan.document.risks import worst_first
from kgitops.plan.link_index import index_links
from kgitops.plan.normal_form import link_view
from kgitops.plan.ownership import Ownership, OwnershipStatus
from kgitops.plan.planned_requests import chain
from kgitops.plan.removal import Removal, find_removals, removed
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
            leads = targets.of(link)
            if isinstance(leads, Finding):
                context.draft.findings.append(leads)
            else:
                _plan(context, link, leads)
    declared = frozenset(link.address for link in desired.links)
    for removal in find_removals(("link",), declared, context):
        remove_link(context, removal)
    topics = frozenset(topic.address for topic in desired.topics)
    found = (
        LocalName(each.name, name)
        for each in current.virtual_clusters.values()
        for name in each.links
    )
    listed = (_address(local) for local in found if not belongs_to_topic(context, local, topics))
    context.keep_others(dict.fromkeys(listed), declared)
    return context.draft


def _address(local: LocalName) -> str:
    return member_address(local.virtual_cluster, EntityType.TOPIC, local.name)


def _plan(context: PlanContext, link: DesiredLink, leads: LinkDestination) -> None:
    found = context.current.link(link.local)
    if found is None:
        _add(context, link, leads)
        return
    topic = local_topic_address(link.local)
    if context.ownership.status(topic) in (OwnershipStatus.FOREIGN, OwnershipStatus.TAKEABLE):
        context.draft.refuse(
            f"{link.located.source}: {link.local} is the topic {topic} of the project "
            f"{context.ownership.label(topic)!r}; give the link another name"
        )
        return
    if leads.topic == found.topic:
        lost = describe_lost_topic(
            context, link.address, found, context.current.topics.get(found.topic)
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
        _keep_or_adopt(context, link, found)
        return
    _retarget(context, link, found, leads)


def _add(context: PlanContext, link: DesiredLink, leads: LinkDestination) -> None:
    address = link.address
    missing = bool(context.ownership.last_applied(address))
    if missing:
        context.report_missing(address)
    expects = Precondition(object=address, exists=False, owner=context.owner_label(address))
    before, after = context.ownership.owner(address), context.owner_after(link, adopted=False)
    fields = protection_fields(before, after)
    found = {risks.LINK_ADD, *takeover_risks(context.ownership, address)}
    found |= {field.risk for field in fields if field.risk}
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.LINK,
            actions=(Action.CREATE,),
            risks=worst_first(found),
            because="it was removed outside of kgitops" if missing else "it is declared",
            source=link.located.source,
            before=None,
            after=_after(link, leads),
            fields=fields,
            preconditions=(expects,),
            requests=chain([_request(link, leads)], expects),
            owner_before=before,
            owner_after=after,
        )
    )


def _keep_or_adopt(context: PlanContext, link: DesiredLink, found: TopicLink) -> None:
    address = link.address
    owner = context.ownership.owner(address)
    adopts = context.ownership.status(address) is not OwnershipStatus.MINE
    after = context.owner_after(link, adopted=adopts or bool(owner and owner.adopted))
    if not adopts and owner == after:
        return
    fields = (protection_fields if adopts else registry_fields)(owner, after)
    risky = {field.risk for field in fields if field.risk}
    if adopts:
        risky |= {risks.LINK_ADOPT, *takeover_risks(context.ownership, address)}
    expects = _expects(context, address, found)
    view = link_view(link.local, found.topic, None)
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.LINK,
            actions=(Action.ADOPT if adopts else Action.UPDATE,),
            risks=worst_first(risky or {risks.REGISTRY_ONLY}),
            because=because_adopted(context.ownership, address)
            if adopts
            else because_remembered(owner, after),
            source=link.located.source,
            before=view,
            after=view,
            fields=fields,
            preconditions=(expects,),
            owner_before=owner,
            owner_after=after,
        )
    )


def _retarget(
    context: PlanContext, link: DesiredLink, found: TopicLink, leads: LinkDestination
) -> None:
    """Change the topic of a link in one step, so that the name always exists (VC-028)."""
    address = link.address
    owner = context.ownership.owner(address)
    mine = context.ownership.status(address) is OwnershipStatus.MINE
    # The link of a Topic that this project gives up is taken over (VC-403a).
    of_topic = context.ownership.status(local_topic_address(link.local)) is OwnershipStatus.MINE
    adopts = not mine and not of_topic
    after = context.owner_after(link, adopted=adopts or bool(mine and owner and owner.adopted))
    last = context.ownership.last_applied(address).get("topic")
    if last and last != found.topic:
        context.draft.drift.append(
            Drift(
                address=address,
                path="topic",
                last_applied=last,
                found=found.topic,
                rule="restored",
            )
        )
    fields = (
        FieldChange(path="topic", before=found.topic, after=leads.shown, risk=risks.LINK_RETARGET),
        *protection_fields(owner, after),
    )
    risky = {field.risk for field in fields if field.risk}
    if adopts:
        risky |= {risks.LINK_ADOPT, *takeover_risks(context.ownership, address)}
    expects = _expects(context, address, found)
    context.draft.changes.append(
        Change(
            address=address,
            kind=Kind.LINK,
            actions=(Action.ADOPT, Action.UPDATE) if adopts else (Action.UPDATE,),
            risks=worst_first(risky),
            because=because_adopted(context.ownership, address)
            if adopts
            else "it differs from its document"
            if mine
            else f"a TopicLink takes the place of the topic {link.local}",
            source=link.located.source,
            before=link_view(link.local, found.topic, None),
            after=_after(link, leads),
            fields=fields,
            preconditions=(expects,),
            requests=chain([_request(link, leads, replaces=found.topic)], expects),
            owner_before=owner,
            owner_after=after,
        )
    )


def _expects(context: PlanContext, address: str, found: TopicLink) -> Precondition:
    return Precondition(
        object=address,
        exists=True,
        owner=context.owner_label(address),
        fields={"topic": found.topic},
    )


def _after(link: DesiredLink, leads: LinkDestination) -> dict[str, Json]:
    return link_view(link.local, leads.shown, link.target)


def _request(
    link: DesiredLink, leads: LinkDestination, replaces: str | None = None
) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=link.local.virtual_cluster,
        entity_type=EntityType.TOPIC,
        entity_name=link.local.name,
        topic=leads.topic,
        target=None if leads.topic else leads.follows,
        replaces=replaces,
    )


def remove_link(context: PlanContext, removal: Removal) -> None:
    """Plan the removal of a link; one that no longer exists is only forgotten."""
    last = removal.owner.last_applied
    local = LocalName(last["virtualCluster"], last["name"])
    found = context.current.link(local)
    request = AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        change=ChangeType.REMOVE,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
    )
    context.draft.changes.append(
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
