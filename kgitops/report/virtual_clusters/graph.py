"""Virtual clusters as a picture: tenants with their members, and the topics that they see.

One value for every form of it: ``virtual_cluster_mermaid`` and ``virtual_cluster_svg`` draw it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from kgitops.model import requests as req
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    LocalName,
    VirtualCluster,
    generated_topic_name,
)
from kgitops.model.wording import counted
from kgitops.plan.document.plan import Change, Plan
from kgitops.report.content.virtual_clusters import unlinked

MOST_TENANTS = 20
MOST_MEMBERS = 8
MOST_LINKS = 12
_WORDS = {
    EntityType.USER: "user",
    EntityType.CLIENT_ID: "client id",
    EntityType.GROUP: "group",
    EntityType.TRANSACTIONAL_ID: "transactional id",
}


class Sign(StrEnum):
    """A plan's effect on a part of the picture; SAME everywhere in a picture of a cluster."""

    SAME = ""
    ADDED = "+"
    REMOVED = "-"


class GraphMember(Struct, frozen=True, kw_only=True):
    """``user User:jane``."""

    text: str
    sign: Sign = Sign.SAME


class GraphLink(Struct, frozen=True, kw_only=True):
    """A name and the index of the topic that it leads to."""

    name: str
    topic: int
    sign: Sign = Sign.SAME


class GraphTenant(Struct, frozen=True, kw_only=True):
    """A virtual cluster; ``more`` says what of it is not drawn, empty where all is."""

    name: str
    members: tuple[GraphMember, ...]
    links: tuple[GraphLink, ...]
    sign: Sign = Sign.SAME
    more: str = ""


class PhysicalTopic(Struct, frozen=True, kw_only=True):
    """A topic and how many virtual clusters see it, also ones that are not drawn."""

    name: str
    tenants: int

    @property
    def shared(self) -> bool:
        """True if more than one virtual cluster sees it."""
        return self.tenants > 1


class VirtualClusterGraph(Struct, frozen=True, kw_only=True):
    """``left_out`` virtual clusters are not drawn."""

    tenants: tuple[GraphTenant, ...]
    topics: tuple[PhysicalTopic, ...]
    left_out: int = 0

    @property
    def note(self) -> str:
        """A note that not all is drawn; empty where all is."""
        if not self.left_out:
            return ""
        verb = "is" if self.left_out == 1 else "are"
        return f"{counted(self.left_out, 'more virtual cluster')} {verb} not drawn"


class _Tenant(Struct):
    sign: Sign = Sign.SAME
    members: dict[str, Sign] = field(default_factory=dict)
    links: dict[tuple[str, str], Sign] = field(default_factory=dict)


def graph_of_clusters(virtual_clusters: Mapping[str, VirtualCluster]) -> VirtualClusterGraph:
    """All virtual clusters of a cluster, by name; only the first few are drawn."""
    tenants: dict[str, _Tenant] = {}
    for name in sorted(virtual_clusters):
        virtual_cluster = virtual_clusters[name]
        members = (
            f"{word} {member}"
            for entity_type, word in _WORDS.items()
            for member in sorted(virtual_cluster.members(entity_type))
        )
        links = virtual_cluster.links
        tenants[name] = _Tenant(
            members=dict.fromkeys(members, Sign.SAME),
            links={(link, links[link].topic): Sign.SAME for link in sorted(links)},
        )
    return _graph(tenants)


def graph_of_plan(plan: Plan) -> VirtualClusterGraph | None:
    """The additions and removals of a plan; None where it touches no virtual cluster."""
    tenants: dict[str, _Tenant] = defaultdict(_Tenant)
    requests = [planned.request for planned in plan.requests]
    made = {
        request.local: f"{request.topic} of {request.local.virtual_cluster}"
        for request in requests
        if isinstance(request, req.CreateTopicRequest) and request.local is not None
    }
    for change in plan.changes:
        for planned in change.requests:
            _take(planned.request, change, tenants, made)
    return _graph(dict(sorted(tenants.items()))) if tenants else None


def _take(
    request: req.Request, change: Change, tenants: dict[str, _Tenant], made: Mapping[LocalName, str]
) -> None:
    match request:
        case req.CreateVirtualClusterRequest(virtual_cluster=name):
            tenants[name].sign = Sign.ADDED
        case req.DeleteVirtualClusterRequest(virtual_cluster=name):
            tenants[name].sign = Sign.REMOVED
        case req.CreateTopicRequest(local=local) if local is not None:
            tenants[local.virtual_cluster].links[local.name, made[local]] = Sign.ADDED
        case req.AlterVirtualClusterRequest(entity_type=entity_type, entity_name=name) if name:
            tenant = tenants[request.virtual_cluster]
            sign = Sign.REMOVED if request.change is ChangeType.REMOVE else Sign.ADDED
            if entity_type is EntityType.TOPIC:
                if request.replaces is not None:
                    tenant.links[name, request.replaces] = Sign.REMOVED
                tenant.links[name, _leads_to(request, change, made)] = sign
            elif entity_type is not None:
                member = f"{_WORDS[entity_type]} {name}"
                tenant.members[member] = sign
                if request.moved_from is not None:
                    tenants[request.moved_from].members[member] = Sign.REMOVED
        case _:
            pass


def _leads_to(
    request: req.AlterVirtualClusterRequest, change: Change, made: Mapping[LocalName, str]
) -> str:
    if request.target is None:
        return unlinked(request, change) or "a topic that the plan does not name"
    new = generated_topic_name(req.NEW_UUID, request.target.name)
    return made.get(request.target, f"{new} of {request.target.virtual_cluster}")


def _graph(tenants_by_name: Mapping[str, _Tenant]) -> VirtualClusterGraph:
    seen_by: dict[str, set[str]] = defaultdict(set)
    for name, tenant in tenants_by_name.items():
        for (_, topic), sign in tenant.links.items():
            if sign is not Sign.REMOVED:
                seen_by[topic].add(name)
    shown = list(tenants_by_name.items())[:MOST_TENANTS]
    drawn = {name: list(tenant.links.items())[:MOST_LINKS] for name, tenant in shown}
    topics = _ordered(drawn.values())
    place = {topic: index for index, topic in enumerate(topics)}
    return VirtualClusterGraph(
        tenants=tuple(
            GraphTenant(
                name=name,
                sign=tenant.sign,
                members=tuple(
                    GraphMember(text=text, sign=sign)
                    for text, sign in list(tenant.members.items())[:MOST_MEMBERS]
                ),
                links=tuple(
                    GraphLink(name=link, topic=place[topic], sign=sign)
                    for (link, topic), sign in drawn[name]
                ),
                more=_more(tenant),
            )
            for name, tenant in shown
        ),
        topics=tuple(PhysicalTopic(name=name, tenants=len(seen_by[name])) for name in topics),
        left_out=len(tenants_by_name) - len(shown),
    )


def _ordered(drawn: Iterable[Sequence[tuple[tuple[str, str], Sign]]]) -> list[str]:
    """The topics at the middle height of the links that lead to them, so that few lines cross."""
    rows: dict[str, list[int]] = defaultdict(list)
    links = (topic for links in drawn for (_, topic), _ in links)
    for row, topic in enumerate(links):
        rows[topic].append(row)
    return sorted(rows, key=lambda topic: (sum(rows[topic]) / len(rows[topic]), topic))


def _more(tenant: _Tenant) -> str:
    return " and ".join(_left(tenant))


def _left(tenant: _Tenant) -> Iterator[str]:
    members, links = len(tenant.members) - MOST_MEMBERS, len(tenant.links) - MOST_LINKS
    if members > 0:
        yield counted(members, "more member")
    if links > 0:
        yield counted(links, "more link")
