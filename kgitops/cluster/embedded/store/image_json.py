"""An image as JSON, for the store's snapshots, which save replaying the log from its beginning."""

import json
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import asdict

from kgitops.cluster.embedded.image.image import (
    AclsImage,
    BrokersImage,
    ConfigsImage,
    GroupImage,
    GroupsImage,
    Image,
    QuotasImage,
    ScramCredential,
    ScramImage,
    TopicImage,
    TopicsImage,
    TransactionImage,
    TransactionsImage,
    can_collide,
)
from kgitops.cluster.embedded.image.record_json import (
    binding_from_json,
    binding_to_json,
    committed_from_json,
    committed_to_json,
    details_from_json,
    details_to_json,
)
from kgitops.cluster.embedded.image.records import TransactionContents
from kgitops.model.cluster_state import Broker
from kgitops.model.json.codec import decode, from_json, to_json
from kgitops.model.json.strict import ShapeError
from kgitops.model.registry import Json
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.quotas import ClientQuotaEntity
from kgitops.model.resources.topics import Assignment
from kgitops.model.resources.virtual_clusters import LoweringOptions, TopicLink, VirtualCluster
from kgitops.virtual_clusters.image import build_image

_TopicRow = tuple[
    str,
    str,
    Assignment,
    Mapping[str, str],
    Mapping[int, tuple[int, ...]],
    Mapping[int, tuple[int, int, int]],
    bool,
]
_VirtualClusterRow = tuple[
    str,
    tuple[tuple[str, str, str | None], ...],
    tuple[str, ...],
    tuple[str, ...],
    Mapping[str, str | None],
    tuple[str, ...],
    Json,
]


class _Document(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The JSON of an image: its contents, without values that can be computed from others.

    Stores from before virtual clusters have none of ``groups``, ``transactions`` and
    ``virtual_clusters``; those from before ``kgitops serve`` none of the last four.
    """

    brokers: tuple[tuple[int, str | None, bool], ...]
    configs: Mapping[str, Mapping[str, str]]
    topics: tuple[_TopicRow, ...]
    acls: tuple[tuple[str, ...], ...]
    quotas: tuple[tuple[ClientQuotaEntity, Mapping[str, float]], ...]
    groups: tuple[tuple[str, str | None, tuple[tuple[str, int, int], ...]], ...] = ()
    transactions: tuple[int, tuple[tuple[str, int, int, bool], ...]] = (0, ())
    virtual_clusters: tuple[_VirtualClusterRow, ...] = ()
    scram: Mapping[str, Mapping[str, tuple[str, str, str, int]]] = {}
    offset_details: Mapping[str, tuple[tuple[str, int, int, str, int], ...]] = {}
    group_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    client_metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    transaction_contents: Mapping[str, TransactionContents] = field(default_factory=dict)


_SELDOM = frozenset(
    {"scram", "offset_details", "group_configs", "client_metrics", "transaction_contents"}
)
"""A kgitops from before them can read a store without them."""


def image_to_json(image: Image) -> Json:
    """The contents of the image."""
    document = _Document(
        brokers=tuple((b.id, b.rack, b.fenced) for b in image.brokers.brokers.values()),
        configs=image.configs.brokers,
        topics=tuple(
            (
                topic.name,
                topic.topic_id,
                topic.assignment,
                topic.configs,
                topic.targets,
                topic.offsets,
                topic.marked_for_deletion,
            )
            for topic in image.topics.by_name.values()
        ),
        acls=tuple(map(binding_to_json, image.acls.bindings)),
        quotas=tuple(image.quotas.quotas.items()),
        groups=tuple(
            (name, group.virtual_cluster, committed_to_json(group.committed))
            for name, group in image.groups.groups.items()
        ),
        transactions=(
            image.transactions.next_producer_id,
            tuple(
                (name, held.producer_id, held.epoch, held.open)
                for name, held in image.transactions.by_id.items()
            ),
        ),
        virtual_clusters=tuple(map(_virtual_cluster_row, image.virtual_clusters.by_name.values())),
        scram={
            user: {
                mechanism: (held.salt, held.stored_key, held.server_key, held.iterations)
                for mechanism, held in credentials.items()
            }
            for user, credentials in image.scram.users.items()
        },
        offset_details={
            name: details_to_json(group.details)
            for name, group in image.groups.groups.items()
            if group.details
        },
        group_configs=image.configs.groups,
        client_metrics=image.configs.client_metrics,
        transaction_contents={
            name: to_json(held.contents)
            for name, held in image.transactions.by_id.items()
            if held.contents != TransactionContents()
        },
    )
    rows = asdict(document)
    return {key: value for key, value in rows.items() if value or key not in _SELDOM}


def image_from_text(text: str) -> Image:
    try:
        document = decode(_Document, text, "image")
    except ShapeError:  # it may hold half a surrogate pair
        document = from_json(_Document, json.loads(text), "image")
    topics = [
        TopicImage(
            name=name,
            topic_id=topic_id,
            assignment=assignment,
            configs=configs,
            targets=targets,
            offsets=offsets,
            marked_for_deletion=marked,
        )
        for name, topic_id, assignment, configs, targets, offsets, marked in document.topics
    ]
    next_producer_id, transactions = document.transactions
    return Image(
        brokers=BrokersImage(
            brokers={
                id_: Broker(id=id_, rack=rack, fenced=fenced)
                for id_, rack, fenced in document.brokers
            }
        ),
        configs=ConfigsImage(
            brokers=document.configs,
            groups=document.group_configs,
            client_metrics=document.client_metrics,
        ),
        topics=TopicsImage(
            by_name={topic.name: topic for topic in topics},
            names={topic.topic_id: topic.name for topic in topics},
            collisions={
                collision_key(topic.name): topic.name for topic in topics if can_collide(topic.name)
            },
        ),
        acls=AclsImage(bindings=frozenset(map(binding_from_json, document.acls))),
        quotas=QuotasImage(quotas=dict(document.quotas)),
        groups=GroupsImage(
            groups={
                name: GroupImage(
                    virtual_cluster=owner,
                    committed=committed_from_json(committed),
                    details=details_from_json(document.offset_details.get(name, ())),
                )
                for name, owner, committed in document.groups
            }
        ),
        transactions=TransactionsImage(
            next_producer_id=next_producer_id,
            by_id={
                name: TransactionImage(
                    producer_id=producer_id,
                    epoch=epoch,
                    open=is_open,
                    contents=document.transaction_contents.get(name, TransactionContents()),
                )
                for name, producer_id, epoch, is_open in transactions
            },
        ),
        scram=ScramImage(
            users={
                user: {
                    mechanism: ScramCredential(
                        salt=salt,
                        stored_key=stored_key,
                        server_key=server_key,
                        iterations=iterations,
                    )
                    for mechanism, (salt, stored_key, server_key, iterations) in held.items()
                }
                for user, held in document.scram.items()
            }
        ),
        virtual_clusters=build_image(map(_virtual_cluster, document.virtual_clusters)),
    )


def _virtual_cluster_row(virtual_cluster: VirtualCluster) -> _VirtualClusterRow:
    return (
        virtual_cluster.name,
        tuple((link.name, link.topic, link.topic_id) for link in virtual_cluster.links.values()),
        tuple(sorted(virtual_cluster.users)),
        tuple(sorted(virtual_cluster.client_ids)),
        virtual_cluster.groups,
        tuple(sorted(virtual_cluster.transactional_ids)),
        to_json(virtual_cluster.options),
    )


def _virtual_cluster(row: _VirtualClusterRow) -> VirtualCluster:
    name, links, users, client_ids, groups, transactional_ids, options = row
    return VirtualCluster(
        name=name,
        links={
            link: TopicLink(name=link, topic=topic, topic_id=topic_id)
            for link, topic, topic_id in links
        },
        users=frozenset(users),
        client_ids=frozenset(client_ids),
        groups=groups,
        transactional_ids=frozenset(transactional_ids),
        options=from_json(LoweringOptions, options, "options"),
    )
