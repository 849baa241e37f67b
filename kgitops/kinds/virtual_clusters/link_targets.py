"""Resolves the targets of declared links, in whatever form a target is declared."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from kgitops.desired.matching.names import near_spelling
from kgitops.desired.state import DesiredState
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredLink, DesiredTopic, DesiredVirtualCluster
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.source import Finding
from kgitops.plan.context import selected
from kgitops.plan.normal_form import known_after_apply


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
