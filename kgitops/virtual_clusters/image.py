"""All virtual clusters at one moment, with indexes, and a delta that collects changes."""

from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.model.resources.virtual_clusters import (
    EntityType,
    LocalName,
    TopicLink,
    VirtualCluster,
)
from kgitops.virtual_clusters.records import (
    RemoveVirtualClusterRecord,
    VirtualClusterEntityRecord,
    VirtualClusterMetadataRecord,
    VirtualClusterRecord,
    VirtualClusterTopicLinkRecord,
)

T = TypeVar("T")


class VirtualClustersImage(Struct, frozen=True, kw_only=True):
    """Virtual clusters by name, with indexes of users, client ids, adopted groups, links (VC-315).

    ``users`` and ``client_ids`` map to the name of a virtual cluster, ``adopted`` maps a global
    group to the local one that took it over, ``links`` a physical topic to the links to it.
    """

    by_name: Mapping[str, VirtualCluster] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    client_ids: Mapping[str, str] = field(default_factory=dict)
    adopted: Mapping[str, LocalName] = field(default_factory=dict)
    links: Mapping[str, frozenset[LocalName]] = field(default_factory=dict)


def build_image(virtual_clusters: Iterable[VirtualCluster]) -> VirtualClustersImage:
    delta = VirtualClustersDelta(VirtualClustersImage())
    for virtual_cluster in virtual_clusters:
        delta.put(virtual_cluster)
    return delta.apply()


def linked_topics(
    by_name: Mapping[str, VirtualCluster], links: Iterable[LocalName]
) -> frozenset[str]:
    """The physical topics that these links lead to, except links that don't exist."""
    owners = ((by_name.get(local.virtual_cluster), local.name) for local in links)
    return frozenset(
        owner.links[name].topic for owner, name in owners if owner and name in owner.links
    )


class VirtualClustersDelta:
    """An image with the changes of later records, readable as one."""

    def __init__(self, image: VirtualClustersImage) -> None:
        self._image = image
        self._changed: dict[str, VirtualCluster | None] = {}
        self._users: dict[str, str | None] = {}
        self._client_ids: dict[str, str | None] = {}
        self._adopted: dict[str, LocalName | None] = {}
        # Copied once: a topic may be linked to from every virtual cluster.
        self._links: dict[str, set[LocalName]] = {}

    def get(self, name: str) -> VirtualCluster | None:
        """The current virtual cluster of this name, or None."""
        return self._changed[name] if name in self._changed else self._image.by_name.get(name)

    def of_user(self, principal: str) -> str | None:
        """The virtual cluster of the user (VC-080), or None."""
        return _latest(principal, self._users, self._image.users)

    def of_client_id(self, client_id: str) -> str | None:
        """The virtual cluster of the client id (VC-081), or None."""
        return _latest(client_id, self._client_ids, self._image.client_ids)

    def adopter(self, group: str) -> LocalName | None:
        """The local group that took the global one over (VC-115), or None."""
        return _latest(group, self._adopted, self._image.adopted)

    def links_to(self, topic: str) -> frozenset[LocalName]:
        """The links that lead to the physical topic (VC-033)."""
        changed = self._links.get(topic)
        return self._image.links.get(topic, frozenset()) if changed is None else frozenset(changed)

    @property
    def changed(self) -> frozenset[str]:
        """The names of the virtual clusters that differ from the image."""
        return frozenset(self._changed)

    def replay(self, record: VirtualClusterMetadataRecord) -> None:
        """Apply one record."""
        match record:
            case VirtualClusterRecord():
                virtual_cluster = self.get(record.name) or VirtualCluster(name=record.name)
                self._changed[record.name] = replace(virtual_cluster, options=record.options)
            case RemoveVirtualClusterRecord():
                self._forget(record.name)
                self._changed[record.name] = None
            case VirtualClusterTopicLinkRecord():
                self._link(record)
            case VirtualClusterEntityRecord():
                self._member(record)
            case _:
                assert_never(record)

    def put(self, virtual_cluster: VirtualCluster) -> None:
        """Add a whole virtual cluster, or replace the one of the same name."""
        self._forget(virtual_cluster.name)
        self._changed[virtual_cluster.name] = virtual_cluster
        for link in virtual_cluster.links.values():
            self._set_link(link.topic, LocalName(virtual_cluster.name, link.name), present=True)
        self._users |= dict.fromkeys(virtual_cluster.users, virtual_cluster.name)
        self._client_ids |= dict.fromkeys(virtual_cluster.client_ids, virtual_cluster.name)
        for group, source in virtual_cluster.groups.items():
            if source is not None:
                self._adopted[source] = LocalName(virtual_cluster.name, group)

    def apply(self) -> VirtualClustersImage:
        """The next image; the same object if nothing changed."""
        if not self._changed:
            return self._image
        return VirtualClustersImage(
            by_name=_merged(self._image.by_name, self._changed),
            users=_merged(self._image.users, self._users),
            client_ids=_merged(self._image.client_ids, self._client_ids),
            adopted=_merged(self._image.adopted, self._adopted),
            links=_merged(
                self._image.links, {k: frozenset(v) or None for k, v in self._links.items()}
            ),
        )

    def _link(self, record: VirtualClusterTopicLinkRecord) -> None:
        virtual_cluster = self._existing(record.virtual_cluster)
        local = LocalName(virtual_cluster.name, record.link_name)
        links = dict(virtual_cluster.links)
        before = links.pop(record.link_name, None)
        if before is not None:
            self._set_link(before.topic, local, present=False)
        if record.topic is not None:
            links[record.link_name] = TopicLink(
                name=record.link_name, topic=record.topic, topic_id=record.topic_id
            )
            self._set_link(record.topic, local, present=True)
        self._changed[virtual_cluster.name] = replace(virtual_cluster, links=links)

    def _member(self, record: VirtualClusterEntityRecord) -> None:
        virtual_cluster = self._existing(record.virtual_cluster)
        name, gone = record.entity_name, {record.entity_name}
        belongs = None if record.remove else virtual_cluster.name
        match record.entity_type:
            case EntityType.USER:
                self._users[name] = belongs
                users = (
                    virtual_cluster.users - gone if record.remove else virtual_cluster.users | gone
                )
                virtual_cluster = replace(virtual_cluster, users=users)
            case EntityType.CLIENT_ID:
                self._client_ids[name] = belongs
                ids = (
                    virtual_cluster.client_ids - gone
                    if record.remove
                    else virtual_cluster.client_ids | gone
                )
                virtual_cluster = replace(virtual_cluster, client_ids=ids)
            case EntityType.TRANSACTIONAL_ID:
                ids = virtual_cluster.transactional_ids
                ids = ids - gone if record.remove else ids | gone
                virtual_cluster = replace(virtual_cluster, transactional_ids=ids)
            case EntityType.GROUP:
                virtual_cluster = self._group(virtual_cluster, record)
            case EntityType.TOPIC:
                raise ValueError("a topic is linked by a record of its own")
        self._changed[virtual_cluster.name] = virtual_cluster

    def _group(
        self, virtual_cluster: VirtualCluster, record: VirtualClusterEntityRecord
    ) -> VirtualCluster:
        groups = dict(virtual_cluster.groups)
        before = groups.pop(record.entity_name, None)
        if before is not None:
            self._adopted[before] = None
        if not record.remove:
            groups[record.entity_name] = record.adopts
            if record.adopts is not None:
                self._adopted[record.adopts] = LocalName(virtual_cluster.name, record.entity_name)
        return replace(virtual_cluster, groups=groups)

    def _existing(self, name: str) -> VirtualCluster:
        virtual_cluster = self.get(name)
        if virtual_cluster is None:
            raise ValueError(f"there is no virtual cluster {name!r} that a record could be about")
        return virtual_cluster

    def _forget(self, name: str) -> None:
        virtual_cluster = self.get(name)
        if virtual_cluster is None:
            return
        for link in virtual_cluster.links.values():
            self._set_link(link.topic, LocalName(name, link.name), present=False)
        self._users |= dict.fromkeys(virtual_cluster.users, None)
        self._client_ids |= dict.fromkeys(virtual_cluster.client_ids, None)
        self._adopted |= {
            source: None for source in virtual_cluster.groups.values() if source is not None
        }

    def _set_link(self, topic: str, local: LocalName, *, present: bool) -> None:
        links = self._links.get(topic)
        if links is None:
            links = self._links[topic] = set(self._image.links.get(topic, ()))
        (links.add if present else links.discard)(local)


def _latest(name: str, changed: Mapping[str, T | None], image: Mapping[str, T]) -> T | None:
    return changed[name] if name in changed else image.get(name)


def _merged(image: Mapping[str, T], changed: Mapping[str, T | None]) -> Mapping[str, T]:
    merged = {**image, **changed}
    return {name: value for name, value in merged.items() if value is not None}
