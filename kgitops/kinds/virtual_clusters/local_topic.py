"""Topics that are declared in a virtual cluster: a physical topic, and the link with its name.

``vc/v/topic/N`` is found by the link N of v, else by the topic id that was last applied. One that
is no longer declared is unlinked, forgotten or deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from kgitops.desired.expansion import ExpandedTopic
from kgitops.desired.findings import Findings, check_name, scope_of
from kgitops.kinds.exports import Exporting, Item, as_document
from kgitops.kinds.topics.alter import delete_request
from kgitops.kinds.topics.exported import topic_spec
from kgitops.kinds.topics.shown import is_another_topic, shown_topic
from kgitops.kinds.topics.topic import TopicKind, plan_topic
from kgitops.kinds.virtual_clusters.topic_names import (
    belongs_to_topic,
    created_inside,
    describe_lost_topic,
    topics_made_inside,
)
from kgitops.manifests.yaml.document import Document
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredLink, DesiredTopic
from kgitops.model.requests import NEW_UUID, AlterVirtualClusterRequest, CreateTopicRequest, Request
from kgitops.model.resources.addresses import (
    local_topic_address,
    member_address,
    split_scoped_address,
    topic_address,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.topics import TopicState
from kgitops.model.resources.virtual_clusters import (
    MAX_LOCAL_NAME,
    ChangeType,
    EntityType,
    LocalName,
    TopicLink,
    generated_parts,
    generated_topic_name,
)
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext, selected
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Action, Basis, Change, FieldChange
from kgitops.plan.draft import chain
from kgitops.plan.normal_form import known_after_apply, link_view, topic_view
from kgitops.plan.ownership import OwnershipStatus
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, RemovalKind, remove
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    basis_of,
    releases_ownership,
    requests_of,
)
from kgitops.plan.usage import measured


class _Found(Struct, frozen=True, kw_only=True):
    """The current topic, None if it is to be created; ``relink`` restores its link."""

    state: TopicState | None = None
    relink: tuple[AlterVirtualClusterRequest, ...] = ()


class LocalTopicKind(TopicKind):
    """The topics, those of virtual clusters by the names that they have there."""

    @classmethod
    def build(
        cls, declared: ExpandedTopic, document: Document, findings: Findings
    ) -> Sequence[DesiredTopic]:
        """Return the topic; only one in a virtual cluster may be shared (VC-040)."""
        (topic,) = super().build(declared, document, findings)
        scope, shared_with = scope_of(declared.metadata.virtual_cluster), declared.spec.share_with
        if scope is None:
            if shared_with:
                findings.error(
                    document,
                    ("spec", "shareWith"),
                    "only a topic in a virtual cluster says whom it is shared with",
                    "remove shareWith, or add metadata.virtualCluster",
                    key=True,
                )
            return [topic]
        name = topic.name
        if len(name) > MAX_LOCAL_NAME and not topic_name_problem(name):
            findings.error(
                document,
                ("metadata", "name"),
                f"the topic name has {len(name)} characters, {MAX_LOCAL_NAME} are allowed in a "
                "virtual cluster: on the cluster a UUID and a dot precede it",
                "shorten it",
            )
        for index, other in enumerate(shared_with):
            path = ("spec", "shareWith", index)
            check_name(other, document, path, findings)
            if other == scope:
                problem = f"the topic is in {other} itself"
                findings.error(document, path, problem, "name other virtual clusters, or remove it")
        local = replace(
            topic,
            address=local_topic_address(LocalName(scope, name)),
            virtual_cluster=scope,
            share_with=tuple(sorted(set(shared_with))),
        )
        return [local]

    def existing(self) -> Iterable[str]:
        """Return the addresses of all topics but internal ones, each by its declared name."""
        context, behind = self.context, {}
        declared = frozenset(topic.address for topic in context.desired.of(DesiredTopic))
        for virtual_cluster in self.current.virtual_clusters.values():
            for link in virtual_cluster.links.values():
                local = LocalName(virtual_cluster.name, link.name)
                if belongs_to_topic(context, local, declared):
                    behind[topic_address(link.topic)] = local_topic_address(local)
        return (behind.get(address, address) for address in super().existing())

    def fits(self, item: DesiredTopic) -> bool:
        """Return whether the topic is not declared by its physical name, though it is inside.

        Another project that manages it, or this one, would otherwise share it with this document.
        """
        state = None if item.virtual_cluster else self.current.topics.get(item.name)
        address = self._managed_inside.get(state.topic_id or "") if state else None
        if address is None:
            return True
        context = self.context
        if context.ownership.status(address).of_another:
            context.refuse(
                item.address,
                f"{item.located.source}: {item.address} is the topic {address}, which "
                f"{context.ownership.foreign_words(address)}; remove the document",
            )
            return False
        if address in context.desired.addresses:
            context.stop(
                item.address,
                Finding(
                    source=item.located.at("metadata", "name"),
                    problem=f"{item.address} is the topic {address}, which is declared as well",
                    advice="declare it by its name there, with metadata.virtualCluster",
                ),
            )
            return False
        return True

    @cached_property
    def _managed_inside(self) -> Mapping[str, str]:
        """The addresses of managed topics of virtual clusters, by topic id."""
        owners = self.context.ownership.owners if self.current.virtual_clusters else {}
        return {
            owner.topic_id: address
            for address, owner in owners.items()
            if owner.topic_id and not owner.spent and split_scoped_address(address)
        }

    def plan_one(self, item: DesiredTopic) -> None:
        """Create the topic, or alter it; in a virtual cluster it is found by its link."""
        local = item.local
        if local is None:
            super().plan_one(item)
            return
        found = self._find(item, local)
        if found is not None:
            name = generated_topic_name(NEW_UUID, item.name)
            context = replace(self.context, local=local)
            plan_topic(context, item, found.state, name, first=found.relink)

    def _find(self, topic: DesiredTopic, local: LocalName) -> _Found | None:
        """Find the physical topic of a declared one; None, with a finding, if it is unclear."""
        link = self.current.link(local)
        if link is None:
            state = self._applied(topic.address)
            if state is None:
                return _Found()
            # Another client removed only the link: the records still exist (VC-031).
            return _Found(state=state, relink=(_adding(local, state.name),))
        state = self.current.topics.get(link.topic)
        problem = self._mismatch(topic, local, link, state)
        if problem:
            self.context.draft.findings.append(problem)
            return None
        return _Found(state=state)

    @cached_property
    def _replaced(self) -> frozenset[LocalName]:
        """Local names that declared TopicLinks take."""
        desired = self.context.desired
        return frozenset(
            link.local for link in desired.of(DesiredLink) if selected(desired, link.address)
        )

    def _applied(self, address: str) -> TopicState | None:
        """Return the topic that this project applied, even if its link is gone."""
        owner = self.context.ownership.owner(address)
        mine = self.context.ownership.status(address) is OwnershipStatus.MINE
        return self._by_id.get(owner.topic_id or "") if owner and mine else None

    @cached_property
    def _by_id(self) -> Mapping[str, TopicState]:
        return {state.topic_id or "": state for state in self.current.topics.values()}

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

    def remove_one(self, removal: Removal) -> None:
        """Delete the topic; one of a virtual cluster is unlinked first, or only forgotten."""
        if "virtualCluster" not in removal.owner.last_applied:
            super().remove_one(removal)
            return
        context, last = self.context, removal.owner.last_applied
        local = LocalName(last["virtualCluster"], last["name"])
        link = self.current.link(local)
        state = self.current.topics.get(link.topic) if link else self._applied(removal.address)
        if state is None or state.topic_id != removal.owner.topic_id:
            # Another client relinked the name: that topic is unmanaged, so it and its link stay.
            _forget(context, removal, None, state)
        elif local in self._replaced:
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

    @classmethod
    def phase(cls, change: Change) -> Phase:
        """Return the phase: a topic that a virtual cluster forgets loses its link (Removal)."""
        if Action.FORGET in change.actions and split_scoped_address(change.address):
            return Phase.LINK_REMOVE if change.requests else Phase.HANDED_OVER
        return super().phase(change)

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a topic, and of its link."""
        if not split_scoped_address(change.address):
            return super().shown(change, around)
        links = [it for it in requests_of(change) if isinstance(it, AlterVirtualClusterRequest)]
        own = tuple(
            it for it in change.requests if not isinstance(it.request, AlterVirtualClusterRequest)
        )
        gives_up = releases_ownership(change)
        is_fitting = not own if gives_up else change.before is not None
        wanted = ChangeType.REMOVE if gives_up else ChangeType.ADD
        if links and not (is_fitting and all(it.change is wanted for it in links)):
            raise ContradictionError("has a request for something else")
        relinked = () if gives_up else tuple(map(_relinked, links))
        shown = shown_topic(replace(change, requests=own), around, relinked)
        if gives_up:
            return _given_up(change, shown, unlinked=bool(links))
        (request,) = requests_of(change) if change.before is None else (None,)
        if isinstance(request, CreateTopicRequest) and request.local:
            name = known_after_apply(request.local.name)
            return replace(shown, after={**(shown.after or {}), "name": name})
        return shown

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each topic, with its name in the virtual cluster that made it."""
        created = created_inside(current)
        for request in super().audited(current):
            if isinstance(request, CreateTopicRequest) and request.topic in created:
                yield replace(request, local=created[request.topic])
            else:
                yield request

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every topic that the project may declare, each by its declared name."""
        made = topics_made_inside(of.state, of.scope.ownership.owners)
        shared = _sharers(of.state, made)
        topics = of.state.topics
        outside = {name: topic for name, topic in topics.items() if name not in made}
        items = super().export(replace(of, state=replace(of.state, topics=outside)))
        for name, local in sorted(made.items()):
            address = local_topic_address(local)
            spec = topic_spec(of, address, topics[name]) if name in topics else None
            if spec is not None:
                applied = of.scope.last_applied(address).get("shareWith", ())
                share = sorted({*shared.get(name, ()), *applied})
                spec |= {"shareWith": share} if share else {}
                document = as_document("Topic", local.name, spec, local.virtual_cluster)
                items.append(Item(f"{local.virtual_cluster}.{local.name}", [document]))
        return items


def _relinked(request: AlterVirtualClusterRequest) -> FieldChange:
    return FieldChange(path="link", before=None, after=request.topic, risk=risks.TOPIC_RELINK)


def _given_up(change: Change, shown: Shown, *, unlinked: bool) -> Shown:
    """Show what becomes of the link of a topic that leaves the project."""
    before, owner = change.before, change.owner_before
    if unlinked:
        shown = replace(shown, risks=(risks.TOPIC_UNLINK,))
    if before is None or owner is None or not basis_of(change).handed_over:
        return shown
    if is_another_topic(before, owner):
        return shown
    local = LocalName(owner.last_applied["virtualCluster"], owner.last_applied["name"])
    because = f"{shown.because}; a TopicLink has the name {local} from now on"
    return replace(shown, because=because)


def _sharers(state: ClusterState, made: Mapping[str, LocalName]) -> dict[str, list[str]]:
    """Return for each topic made inside the other virtual clusters that link to it (VC-040)."""
    names_by_topic: dict[str, set[str]] = {}
    for name, one in state.virtual_clusters.items():
        for link in one.links.values():
            if link.topic in made and made[link.topic].virtual_cluster != name:
                names_by_topic.setdefault(link.topic, set()).add(name)
    return {topic: sorted(names) for topic, names in names_by_topic.items()}


def _adding(local: LocalName, topic: str) -> AlterVirtualClusterRequest:
    return AlterVirtualClusterRequest(
        virtual_cluster=local.virtual_cluster,
        entity_type=EntityType.TOPIC,
        entity_name=local.name,
        topic=topic,
    )


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
    """Remove the link first, by a separate change: others may have links to the topic as well."""
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
        [replace(delete_request(state), local=local)],
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
