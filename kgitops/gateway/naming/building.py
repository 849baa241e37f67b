"""Builds name tables from the registry's records of virtual clusters; refuses damaged ones."""

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from kgitops.gateway.naming.name_table import NameTable, NameTables
from kgitops.lowering.lifting import recorded_virtual_clusters
from kgitops.lowering.record_reading import Records, read_records
from kgitops.lowering.records import PREFIX, RecordStatus
from kgitops.model.errors import SafetyError
from kgitops.model.registry import Json
from kgitops.model.resources.names import is_internal, topic_name_problem
from kgitops.model.resources.virtual_clusters import (
    LocalName,
    LoweringOptions,
    TopicLink,
    VirtualCluster,
    physical_id,
    virtual_cluster_name_problem,
)
from kgitops.virtual_clusters.image import build_image

_ID_BYTES = 16


def build_name_tables(
    raw: Mapping[str, Mapping[str, Json]], offset: int, before: NameTables | None = None
) -> NameTables:
    """Build the tables from the records below ``vcs/``; ``before`` itself if no name changed.

    A link that is being made or removed has no name here, and a user who is being bound is no
    member yet.

    Raises:
        SafetyError: a record is damaged or unknown; there is never a table of the others.
    """
    records = read_records(raw)
    usable = usable_virtual_clusters(records)
    image = build_image(usable)
    version = before.version + 1 if before else 1
    tables: dict[str, NameTable] = {}
    for virtual_cluster in usable:
        name = virtual_cluster.name
        table = _name_table(virtual_cluster, version)
        known = before.by_virtual_cluster.get(name) if before else None
        unchanged = known is not None and replace(table, version=known.version) == known
        tables[name] = known if known is not None and unchanged else table
    if before is not None and image == before.image and tables == before.by_virtual_cluster:
        return before
    return NameTables(version=version, offset=offset, image=image, by_virtual_cluster=tables)


def usable_virtual_clusters(records: Records) -> tuple[VirtualCluster, ...]:
    """The recorded virtual clusters, with the links that are in use, and without options.

    Raises:
        SafetyError: a name or a topic id is none that kgitops writes.
    """
    usable = []
    for virtual_cluster in recorded_virtual_clusters(records).values():
        name = virtual_cluster.name
        problem = virtual_cluster_name_problem(name)
        if problem:
            raise _damaged(f"vc/{name}", problem)
        links = {
            link.name: _checked(name, link)
            for link in virtual_cluster.links.values()
            if records.links[LocalName(name, link.name)][1] is RecordStatus.ACTIVE
        }
        _check_ids(name, links.values())
        usable.append(replace(virtual_cluster, links=links, options=LoweringOptions()))
    return tuple(usable)


def _name_table(virtual_cluster: VirtualCluster, version: int) -> NameTable:
    links = virtual_cluster.links.values()
    return NameTable(
        virtual_cluster=virtual_cluster.name,
        version=version,
        links={link.name.encode(): link.topic.encode() for link in links},
        local_names=_local_names(links),
        topic_ids={_topic_id_bytes(link.topic_id): link.topic.encode() for link in links},
        prefix=physical_id(virtual_cluster.name, "").encode(),
    )


def _local_names(links: Iterable[TopicLink]) -> dict[bytes, tuple[bytes, ...]]:
    names = defaultdict(list)
    for link in links:
        names[link.topic.encode()].append(link.name.encode())
    return {topic: tuple(sorted(local)) for topic, local in names.items()}


def _checked(virtual_cluster: str, link: TopicLink) -> TopicLink:
    """The link, whose names can't be taken for anything else on the wire."""
    problem = topic_name_problem(link.name) or topic_name_problem(link.topic)
    if problem is None and is_internal(link.topic):
        problem = f"the topic {link.topic} is internal"
    if problem is None and not _topic_id_bytes(link.topic_id):
        problem = f"{link.topic_id!r} is not the id of a topic"
    if problem is not None:
        raise _damaged(f"link/{virtual_cluster}/{link.name}", problem)
    return link


def _check_ids(virtual_cluster: str, links: Iterable[TopicLink]) -> None:
    topics: dict[str | None, str] = {}
    for link in links:
        if topics.setdefault(link.topic_id, link.topic) != link.topic:
            problem = f"its topic id is that of another topic, {topics[link.topic_id]}"
            raise _damaged(f"link/{virtual_cluster}/{link.name}", problem)


def _topic_id_bytes(text: str | None) -> bytes:
    """The 16 bytes of a topic id; empty if the text is not how Kafka writes one."""
    try:
        decoded = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    written = base64.urlsafe_b64encode(decoded).decode().rstrip("=")
    return decoded if len(decoded) == _ID_BYTES and any(decoded) and written == text else b""


def _damaged(key: str, problem: str) -> SafetyError:
    return SafetyError(
        f"the registry record {PREFIX}{key} is damaged: {problem}; no names can be translated "
        "without it, so restore the registry"
    )
