"""``kind: TopicLink``: the topic that a name of a virtual cluster leads to."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Struct

from kgitops.desired.declared_names import near_spelling
from kgitops.desired.findings import Findings, Path, check_name, scope_of
from kgitops.desired.state import DesiredState
from kgitops.kinds.base import ObjectKind, Steps
from kgitops.kinds.exports import Exporting, Inline, Item, as_document, written_policy
from kgitops.kinds.virtual_clusters.topic_names import (
    belongs_to_topic,
    created_inside,
    describe_lost_topic,
    topics_made_inside,
)
from kgitops.manifests.kinds.fields import NotNull, Text, manifest
from kgitops.manifests.kinds.parts import LinkMetadata
from kgitops.manifests.yaml.document import Document, shown
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredLink,
    DesiredTopic,
    DesiredVirtualCluster,
)
from kgitops.model.requests import AlterVirtualClusterRequest, Request
from kgitops.model.resources import virtual_clusters as found
from kgitops.model.resources.addresses import local_topic_address, member_address
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    default_link_name,
)
from kgitops.model.source import Finding
from kgitops.plan.context import PlanContext, selected
from kgitops.plan.document import risks
from kgitops.plan.document.plan import Basis, Change, Drift, FieldChange
from kgitops.plan.normal_form import known_after_apply, link_view
from kgitops.plan.phases import Phase
from kgitops.plan.removal import Removal, remove_whole
from kgitops.plan.shown_values import (
    ContradictionError,
    Shown,
    Surroundings,
    altered,
    basis_of,
    created,
    is_adopted,
    owner_after,
    reason_of_removal,
    releases_ownership,
    removed,
    removed_whole,
    requests_of,
)


class LinkDestination(Struct, frozen=True, kw_only=True):
    """A physical topic; None if it is yet to be created and the link ``follows`` another name."""

    topic: str | None = None
    follows: LocalName | None = None

    @property
    def shown(self) -> str:
        """The physical name as a plan shows it."""
        return self.topic or known_after_apply(self.follows.name if self.follows else "")


class LinkTargets:
    """Resolves link targets among the declared and the existing names."""

    def __init__(self, desired: DesiredState, current: ClusterState) -> None:
        self._desired = desired
        self._current = current

    def of(self, link: DesiredLink) -> LinkDestination | Finding:
        """Resolve the link's target, or explain why that is not possible (VC-026)."""
        if link.topic is not None:
            return self._physical(link, link.topic)
        at, seen = link.target, {link.local}
        while at is not None and at not in seen:
            seen.add(at)
            topic = self._topics.get(at)
            topic_name = self._link(at)
            if topic is not None:
                return (
                    LinkDestination(topic=topic_name) if topic_name else LinkDestination(follows=at)
                )
            declared = self._links.get(at)
            if declared is None:
                return LinkDestination(topic=topic_name) if topic_name else self._nowhere(link, at)
            if declared.topic is not None:
                return self._physical(link, declared.topic)
            at = declared.target
        return Finding(
            source=link.located.at("spec", "target"),
            problem=f"{link.local} leads in a circle of links to itself",
            advice="let one of them lead to a topic",
        )

    def _physical(self, link: DesiredLink, name: str) -> LinkDestination | Finding:
        if name in self._current.topics or name in self._global:
            return LinkDestination(topic=name)
        return Finding(
            source=link.located.at("spec", "target"),
            problem=f"{link.local} leads to the topic {name!r}, which is neither on the cluster "
            "nor in this plan",
            advice=_advice(name, {*self._current.topics, *self._global}, "declare the topic"),
        )

    def _nowhere(self, link: DesiredLink, at: LocalName) -> Finding:
        where = at.virtual_cluster
        exists = where in self._current.virtual_clusters or any(
            item.name == where for item in self._desired.of(DesiredVirtualCluster)
        )
        what = (
            f"{at}, and {where} has no such topic"
            if exists
            else f"{at}, and there is no virtual cluster {where}"
        )
        return Finding(
            source=link.located.at("spec", "target"),
            problem=f"{link.local} leads to {what}, neither on the cluster nor in this plan",
            advice=_advice(at.name, self._names_in(where), "declare the topic there"),
        )

    def _names_in(self, virtual_cluster: str) -> set[str]:
        existing = self._current.virtual_clusters.get(virtual_cluster)
        declared = (
            local.name
            for local in (*self._topics, *self._links)
            if local.virtual_cluster == virtual_cluster
        )
        return {*declared, *(existing.links if existing else ())}

    def _link(self, at: LocalName) -> str | None:
        link = self._current.link(at)
        return link.topic if link else None

    @cached_property
    def _topics(self) -> Mapping[LocalName, DesiredTopic]:
        return {
            LocalName(topic.virtual_cluster, topic.name): topic
            for topic in self._desired.of(DesiredTopic)
            if topic.virtual_cluster is not None and selected(self._desired, topic.address)
        }

    @cached_property
    def _global(self) -> frozenset[str]:
        return frozenset(
            topic.name
            for topic in self._desired.of(DesiredTopic)
            if topic.virtual_cluster is None and selected(self._desired, topic.address)
        )

    @cached_property
    def _links(self) -> Mapping[LocalName, DesiredLink]:
        return {
            link.local: link
            for link in self._desired.of(DesiredLink)
            if selected(self._desired, link.address)
        }


def _advice(name: str, known: Iterable[str], otherwise: str) -> str:
    near = near_spelling(name, known)
    return f"did you mean {near}?" if near else f"{otherwise}, or correct the name"


_TARGET: Path = ("spec", "target")


@manifest
class LinkTarget:
    """The topic that a link leads to: virtualCluster and topic, or physicalTopic."""

    virtual_cluster: Annotated[Text | None, NotNull()] = None
    """The virtual cluster that the topic was created in."""
    topic: Annotated[Text | None, NotNull()] = None
    """The topic's name in that virtual cluster."""
    physical_topic: Annotated[Text | None, NotNull()] = None
    """The topic's name on the physical cluster, instead of the other two."""


@manifest
class TopicLinkSpec:
    """A link."""

    target: LinkTarget
    """The topic that the link leads to."""
    deletion_policy: Annotated[Literal["Protect", "Delete", "Orphan"] | None, NotNull()] = None
    """The effect of removing this document: Delete (the default), Protect or Orphan."""


@manifest
class TopicLink:
    """A name for a topic in a virtual cluster: data is neither copied nor moved.

    Example:
        apiVersion: kgitops/v1
        kind: TopicLink
        metadata: {name: sales.orders, virtualCluster: analytics}
        spec:
          target: {virtualCluster: emea.sales, topic: Orders}
    """

    api_version: Literal["kgitops/v1"]
    """The version of this format."""
    kind: Literal["TopicLink"]
    """The kind of the document."""
    metadata: LinkMetadata
    """The metadata of the document."""
    spec: TopicLinkSpec
    """The link."""


class TopicLinkKind(ObjectKind[DesiredLink]):
    """The topic that each local name leads to."""

    declares, files, phases = DesiredLink, "links", (Phase.LINK, Phase.LINK_REMOVE)
    always_scoped = True

    @classmethod
    def build(
        cls, declared: TopicLink, document: Document, findings: Findings
    ) -> Sequence[DesiredLink]:
        """Return the link; none if its target is unclear."""
        metadata, spec = declared.metadata, declared.spec
        scope = metadata.virtual_cluster
        target = _target(spec.target, document, findings)
        if target is None:
            return []
        local, topic = (target, None) if isinstance(target, LocalName) else (None, target)
        default = target.name if isinstance(target, LocalName) else default_link_name(target)
        name = metadata.name or default
        if problem := topic_name_problem(name):
            advice = "clients use it as a topic name: up to 249 letters, digits, '.', '_' and '-'"
            findings.error(document, ("metadata", "name"), problem, advice)
        link = DesiredLink(
            address=member_address(scope, EntityType.TOPIC, name),
            virtual_cluster=scope,
            name=name,
            topic=topic,
            target=local,
            deletion_policy=DeletionPolicy(spec.deletion_policy or "Delete"),
            deletion_policy_written=spec.deletion_policy is not None,
            labels=metadata.labels,
            located=document,
        )
        return [link]

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
        if context.ownership.status(topic).of_another:
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
        self, link: DesiredLink, current: found.TopicLink, destination: LinkDestination
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

    @classmethod
    def shown(cls, change: Change, around: Surroundings) -> Shown:
        """Return what is shown of a change of a link, be it that of a topic that goes."""
        if change.owner_before is None and change.owner_after is None:
            return _unlinked(change, around)
        if releases_ownership(change):
            return removed_whole(change, risks.LINK_REMOVE, risks.LINK_FORGET)
        before, last = change.before, owner_after(change).last_applied
        local = LocalName(last["virtualCluster"], last["name"])
        (request,) = requests_of(change) or (None,)
        if request is None:
            if before is None:
                raise ContradictionError("is not created by its request")
            adoption = risks.LINK_ADOPT if is_adopted(change) else None
            return altered(change, after=before, adoption=adoption)
        if not isinstance(request, AlterVirtualClusterRequest):
            raise ContradictionError("has a request for something else")
        to = request.topic or known_after_apply(request.target.name if request.target else "")
        target = last["target"]
        declared = None if target is None else LocalName(target["virtualCluster"], target["topic"])
        after = link_view(local, to, declared)
        if before is None:
            return created(change, after=after, risky={risks.LINK_ADD})
        # The link of a Topic that this project gives up is taken over (VC-403a).
        of_topic = is_adopted(change) and basis_of(change).handed_over
        return altered(
            change,
            after=after,
            fields=(
                FieldChange(
                    path="topic", before=before["topic"], after=to, risk=risks.LINK_RETARGET
                ),
            ),
            adoption=risks.LINK_ADOPT if is_adopted(change) and not of_topic else None,
            because=f"a TopicLink takes the place of the topic {local}"
            if of_topic
            else "it differs from its document",
        )

    @classmethod
    def written_at(cls, item: DesiredLink, steps: Steps) -> Iterable[Path]:
        """Return the place of the value; the physical topic is a target."""
        if steps == ("topic",):
            return [("spec", "target", "physicalTopic")]
        return super().written_at(item, steps)

    @classmethod
    def audited(cls, current: ClusterState) -> Iterable[Request]:
        """Return a request for each link but those that come with their topic."""
        with_topic = frozenset(created_inside(current).values())
        for scope, cluster in sorted(current.virtual_clusters.items()):
            for link in cluster.links.values():
                if LocalName(scope, link.name) not in with_topic:
                    yield AlterVirtualClusterRequest(
                        virtual_cluster=scope,
                        entity_type=EntityType.TOPIC,
                        entity_name=link.name,
                        topic=link.topic,
                    )

    @classmethod
    def export(cls, of: Exporting) -> list[Item]:
        """Return every link but those of topics that were created in their virtual cluster."""
        state, scope = of.state, of.scope
        made = topics_made_inside(state, scope.ownership.owners)
        items = []
        for name in sorted(state.virtual_clusters):
            for link in sorted(state.virtual_clusters[name].links.values(), key=lambda it: it.name):
                local = LocalName(name, link.name)
                address = member_address(name, EntityType.TOPIC, link.name)
                if made.get(link.topic) == local or not scope.may_declare(address):
                    continue
                owner = made.get(link.topic)
                target = (
                    {"virtualCluster": owner.virtual_cluster, "topic": owner.name}
                    if owner
                    else {"physicalTopic": link.topic}
                )
                spec = {"target": Inline(target), **written_policy(scope.last_applied(address))}
                items.append(
                    Item(f"{name}.{link.name}", [as_document("TopicLink", link.name, spec, name)])
                )
        return items


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


def _target(target: LinkTarget, document: Document, findings: Findings) -> LocalName | str | None:
    """Return a topic of a virtual cluster, or the name of a physical one; None if unclear."""
    scope, topic, physical = target.virtual_cluster, target.topic, target.physical_topic
    if physical is not None:
        if scope is not None or topic is not None:
            problem = "the target names both a physicalTopic and a topic of a virtual cluster"
            advice = "write physicalTopic alone, or virtualCluster and topic"
            findings.error(document, _TARGET, problem, advice)
            return None
        _check_topic(physical, document, (*_TARGET, "physicalTopic"), findings)
        return physical
    if topic is None:
        problem = "the target names no topic"
        advice = "write virtualCluster and topic, or physicalTopic"
        findings.error(document, _TARGET, problem, advice)
        return None
    if scope is None or scope_of(scope) is None:
        problem = f"the target {shown(topic)} is not in a virtual cluster"
        advice = f"write physicalTopic: {topic} alone, or name its virtual cluster"
        findings.error(document, (*_TARGET, "topic"), problem, advice, key=True)
        return None
    check_name(scope, document, (*_TARGET, "virtualCluster"), findings)
    if wrong := topic_name_problem(topic):
        findings.error(document, (*_TARGET, "topic"), wrong, "correct the name")
    return LocalName(scope, topic)


def _check_topic(name: str, document: Document, path: Path, findings: Findings) -> None:
    if problem := topic_name_problem(name):
        findings.error(document, path, problem, "correct the name")
    elif is_internal(name):
        problem = f"the topic {name} is internal, and no virtual cluster may have it"
        findings.error(document, path, problem, "remove the link")


def _unlinked(change: Change, around: Surroundings) -> Shown:
    (topic,) = change.derived_from
    (request,) = requests_of(change)
    if not isinstance(request, AlterVirtualClusterRequest) or request.change is ChangeType.ADD:
        raise ContradictionError("has a request for something else")
    because = f"{reason_of_removal(around.changes[topic])}, and this is its name"
    return removed(change, risk=risks.LINK_REMOVE, because=because)
