"""The name tables as JSON, for gateways of others, and the JSON Schema of that."""

from typing import Literal

import msgspec
from msgspec import Struct

from kgitops.gateway.naming.name_table import NameTables
from kgitops.model.json.schema import document_schema
from kgitops.model.registry import Json
from kgitops.model.resources.virtual_clusters import VirtualCluster, physical_id


class TopicNames(Struct, frozen=True, kw_only=True):
    """One local name of a topic; a topic may have several."""

    name: str
    physical_name: str
    topic_id: str


class VirtualClusterNames(Struct, frozen=True, kw_only=True):
    """One virtual cluster: its members, its topics, and the beginning of its physical ids."""

    name: str
    users: tuple[str, ...]
    client_ids: tuple[str, ...]
    id_prefix: str
    topics: tuple[TopicNames, ...]


class NamesDocument(Struct, frozen=True, kw_only=True):
    """All virtual clusters of a cluster, as its registry has them up to ``registry_offset``."""

    format_version: Literal["1.0"] = "1.0"
    kind: Literal["kgitops.gateway-names"] = "kgitops.gateway-names"
    registry_offset: int
    virtual_clusters: tuple[VirtualClusterNames, ...]


def names_document(tables: NameTables) -> NamesDocument:
    """The document of the tables, everything in the order of its name."""
    by_name = tables.image.by_name
    return NamesDocument(
        registry_offset=tables.offset,
        virtual_clusters=tuple(_names(by_name[name]) for name in sorted(by_name)),
    )


def names_json(tables: NameTables) -> str:
    encoded = msgspec.json.encode(names_document(tables))
    return msgspec.json.format(encoded, indent=2).decode()


def names_schema() -> dict[str, Json]:
    """The schema of the document; objects may gain keys within a major version."""
    return document_schema(
        NamesDocument,
        title="kgitops gateway names",
        description="The names of virtual clusters, as kgitops vc export --format gateway writes "
        "them.",
    )


def _names(virtual_cluster: VirtualCluster) -> VirtualClusterNames:
    links = virtual_cluster.links
    return VirtualClusterNames(
        name=virtual_cluster.name,
        users=tuple(sorted(virtual_cluster.users)),
        client_ids=tuple(sorted(virtual_cluster.client_ids)),
        id_prefix=physical_id(virtual_cluster.name, ""),
        topics=tuple(
            TopicNames(
                name=name, physical_name=links[name].topic, topic_id=links[name].topic_id or ""
            )
            for name in sorted(links)
        ),
    )
