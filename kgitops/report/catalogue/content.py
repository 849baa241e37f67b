"""The content of the catalogue, made from a desired state."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kgitops.desired.state import DesiredState
from kgitops.model.json.declared import (
    ONLY_CONFIGS,
    AnyDesired,
    DesiredAcl,
    DesiredGroup,
    DesiredLink,
    DesiredMember,
    DesiredQuota,
    DesiredTopic,
    DesiredUser,
    DesiredVirtualCluster,
)
from kgitops.model.resources.acls import AclBinding, Operation
from kgitops.model.resources.addresses import object_name
from kgitops.model.resources.virtual_clusters import EntityType, TopicLink, VirtualCluster
from kgitops.model.wording import counted
from kgitops.report.catalogue.access import Access, SeenTopic, TopicBindings, Way, access_to
from kgitops.report.content.units import with_unit
from kgitops.report.virtual_clusters.graph import VirtualClusterGraph, graph_of_clusters

_QUOTA = "quota"


class TopicEntry(Struct, frozen=True, kw_only=True):
    """A topic; ``place`` is the line of its document."""

    name: str
    labels: Mapping[str, str]
    size: str
    configs: tuple[tuple[str, str], ...]
    readers: Access
    writers: Access
    place: str


class Entry(Struct, frozen=True, kw_only=True):
    """An object with its declared ``values``: a quota, a user, a group or client metrics."""

    name: str
    labels: Mapping[str, str]
    values: tuple[tuple[str, str], ...]
    place: str


class PrincipalEntry(Struct, frozen=True, kw_only=True):
    """A principal with all declared bindings of its."""

    name: str
    bindings: tuple[str, ...]


class Catalogue(Struct, frozen=True, kw_only=True):
    """The declared objects of a project, as its page shows them; ``graph`` of virtual clusters."""

    project: str
    cluster: str
    topics: tuple[TopicEntry, ...]
    principals: tuple[PrincipalEntry, ...]
    others: Mapping[str, tuple[Entry, ...]]
    """By the noun of their kind: quota, user, consumer group, client metrics."""
    graph: VirtualClusterGraph | None
    labels: tuple[tuple[str, int], ...]

    @property
    def summary(self) -> str:
        """``12 topics, 4 principals, 3 quotas``."""
        counts = [(len(self.topics), "topic"), (len(self.principals), "principal")]
        counts += [(len(entries), noun) for noun, entries in self.others.items()]
        return ", ".join(counted(number, noun) for number, noun in counts)


def catalogue_of(desired: DesiredState, cluster: str) -> Catalogue:
    """The catalogue of what is declared for one cluster."""
    bindings = TopicBindings(acl.binding for acl in desired.of(DesiredAcl))
    links = _links(desired)
    members = {
        member.name: member.virtual_cluster
        for member in desired.of(DesiredMember)
        if member.entity_type is EntityType.USER
    }
    topics = tuple(
        _topic(topic, tuple(_ways(topic, bindings, links)), members)
        for topic in desired.of(DesiredTopic)
    )
    labels = Counter(
        f"{key}={value}" for topic in topics for key, value in sorted(topic.labels.items())
    )
    clusters = _virtual_clusters(desired)
    return Catalogue(
        project=desired.project.name,
        cluster=cluster,
        topics=topics,
        principals=tuple(_principals(acl.binding for acl in desired.of(DesiredAcl))),
        others={
            noun: entries
            for noun, entries in _others(desired)
            if entries or noun == _QUOTA  # a project without limits should see it
        },
        graph=graph_of_clusters(clusters) if clusters else None,
        labels=tuple(sorted(labels.items())),
    )


Links = Mapping[SeenTopic, Sequence[SeenTopic]]
"""The further names of topics, by the names that they are declared with."""


def _links(desired: DesiredState) -> Links:
    links: dict[SeenTopic, list[SeenTopic]] = {}
    for link in desired.of(DesiredLink):
        target = link.target
        seen = SeenTopic(link.local.name, link.local.virtual_cluster)
        if target is not None:
            links.setdefault(SeenTopic(target.name, target.virtual_cluster), []).append(seen)
        elif link.topic is not None:
            links.setdefault(SeenTopic(link.topic), []).append(seen)
    return links


def _ways(topic: DesiredTopic, bindings: TopicBindings, links: Links) -> Iterator[Way]:
    """The topic's declared name, and those of links to it and to its links."""
    declared = SeenTopic(topic.name, topic.virtual_cluster)
    made_inside = topic.virtual_cluster is not None
    physical = bindings.on_every if made_inside else bindings.on(declared)
    yield Way(declared, [*bindings.on(declared), *(physical if made_inside else ())])
    found, ahead = {declared}, [*links.get(declared, ())]
    while ahead:
        seen = ahead.pop(0)
        if seen not in found:
            found.add(seen)
            ahead += links.get(seen, ())
            name = f"{seen.virtual_cluster}/{seen.name}"
            yield Way(seen, [*bindings.on(seen), *physical], name)


def _topic(topic: DesiredTopic, ways: Sequence[Way], members: Mapping[str, str]) -> TopicEntry:
    partitions = counted(topic.partitions, "partition")
    replicas = counted(topic.replication_factor, "replica")
    source = topic.located.source
    return TopicEntry(
        name=object_name(topic.address).name,
        labels=topic.labels,
        size=f"{partitions} x {replicas}",
        configs=tuple(_configs(topic.configs)),
        readers=access_to(ways, Operation.READ, members),
        writers=access_to(ways, Operation.WRITE, members),
        place=f"{source.file}:{source.line}",
    )


def _others(desired: DesiredState) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    yield _QUOTA, tuple(_entry(quota, _limits(quota)) for quota in desired.of(DesiredQuota))
    yield "user", tuple(_entry(user, _mechanisms(user)) for user in desired.of(DesiredUser))
    yield (
        "consumer group",
        tuple(_entry(group, _of_group(group)) for group in desired.of(DesiredGroup)),
    )
    for kind in ONLY_CONFIGS:
        yield (
            kind.kind.words,
            tuple(_entry(item, _configs(item.configs)) for item in desired.of(kind)),
        )


def _entry(
    declared: AnyDesired,
    values: Iterable[tuple[str, str]],
) -> Entry:
    source = declared.located.source
    return Entry(
        name=object_name(declared.address).name,
        labels=declared.labels,
        values=tuple(values),
        place=f"{source.file}:{source.line}",
    )


def _limits(quota: DesiredQuota) -> Iterator[tuple[str, str]]:
    for key, value in sorted(quota.quotas.items()):
        yield key, with_unit(f"quotas.{key}", f"{value:g}" if value % 1 else str(int(value)))


def _mechanisms(user: DesiredUser) -> Iterator[tuple[str, str]]:
    for mechanism, credential in user.credentials.items():
        yield str(mechanism), counted(credential.iterations, "iteration")


def _of_group(group: DesiredGroup) -> Iterator[tuple[str, str]]:
    yield from _configs(group.configs)
    if group.reset is not None:
        yield "resetOffsets", f"version {group.reset.version}"


def _configs(configs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(configs.items()):
        yield key, with_unit(f"configs.{key}", value)


def _principals(bindings: Iterable[AclBinding]) -> Iterable[PrincipalEntry]:
    found: dict[str, list[AclBinding]] = {}
    for binding in bindings:
        found.setdefault(binding.principal, []).append(binding)
    for name, own in sorted(found.items()):
        yield PrincipalEntry(name=name, bindings=tuple(_lines(own)))


def _lines(bindings: Iterable[AclBinding]) -> Iterable[str]:
    """``Allow Describe, Read on topic orders``: a line for each resource."""
    resources: dict[str, list[str]] = {}
    for binding in sorted(bindings):
        scope = f" of {binding.virtual_cluster}" if binding.scoped else ""
        pattern = f"{binding.resource_name}{'…' if binding.pattern_type == 'prefixed' else ''}"
        host = "" if binding.host == "*" else f" from {binding.host}"
        where = f"{binding.resource_type} {pattern}{scope}{host}"
        key = f"{binding.permission_type} {{}} on {where}"
        resources.setdefault(key, []).append(str(binding.operation))
    return (key.replace("{}", ", ".join(words), 1) for key, words in resources.items())


def _virtual_clusters(desired: DesiredState) -> dict[str, VirtualCluster]:
    """The declared virtual clusters with their declared members and links."""
    members: dict[tuple[str, EntityType], set[str]] = {}
    for member in desired.of(DesiredMember):
        key = (member.virtual_cluster, member.entity_type)
        members.setdefault(key, set()).add(member.name)
    links: dict[str, dict[str, TopicLink]] = {}
    for topic in desired.of(DesiredTopic):
        if topic.virtual_cluster is not None:
            own = TopicLink(name=topic.name, topic=f"{topic.name} of {topic.virtual_cluster}")
            links.setdefault(topic.virtual_cluster, {})[topic.name] = own
    for link in desired.of(DesiredLink):
        target = link.target
        aim = link.topic or (f"{target.name} of {target.virtual_cluster}" if target else "")
        name = link.local.name
        links.setdefault(link.local.virtual_cluster, {})[name] = TopicLink(name=name, topic=aim)
    return {
        item.name: VirtualCluster(
            name=item.name,
            links=links.get(item.name, {}),
            users=frozenset(members.get((item.name, EntityType.USER), ())),
            client_ids=frozenset(members.get((item.name, EntityType.CLIENT_ID), ())),
            groups=dict.fromkeys(members.get((item.name, EntityType.GROUP), ())),
            transactional_ids=frozenset(members.get((item.name, EntityType.TRANSACTIONAL_ID), ())),
        )
        for item in desired.of(DesiredVirtualCluster)
    }
