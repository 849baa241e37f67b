"""An image as JSON, for the store's snapshots, which save replaying the log from its beginning."""

from kgitops.cluster.embedded.image.image import (
    AclsImage,
    BrokersImage,
    ConfigsImage,
    GroupImage,
    GroupsImage,
    Image,
    QuotasImage,
    TopicImage,
    TopicsImage,
    TransactionImage,
    TransactionsImage,
    can_collide,
)
from kgitops.cluster.embedded.image.record_json import (
    Json,
    assignment_from_json,
    binding_from_json,
    binding_to_json,
    committed_from_json,
    committed_to_json,
    entity_from_json,
    offsets_from_json,
)
from kgitops.model.cluster_state import Broker
from kgitops.model.json.virtual_clusters import options_to_json, read_options
from kgitops.model.resources.names import collision_key
from kgitops.model.resources.virtual_clusters import TopicLink, VirtualCluster
from kgitops.virtual_clusters.image import build_image


def image_to_json(image: Image) -> Json:
    """The contents of the image, without values that can be computed from others."""
    return {
        "brokers": [[b.id, b.rack, b.fenced] for b in image.brokers.brokers.values()],
        "configs": image.configs.brokers,
        "topics": [
            [
                t.name,
                t.topic_id,
                t.assignment,
                t.configs,
                t.targets,
                t.offsets,
                t.marked_for_deletion,
            ]
            for t in image.topics.by_name.values()
        ],
        "acls": [binding_to_json(binding) for binding in image.acls.bindings],
        "quotas": list(image.quotas.quotas.items()),
        "groups": [
            [name, group.virtual_cluster, committed_to_json(group.committed)]
            for name, group in image.groups.groups.items()
        ],
        "transactions": [
            image.transactions.next_producer_id,
            [
                [name, held.producer_id, held.epoch, held.open]
                for name, held in image.transactions.by_id.items()
            ],
        ],
        "virtual_clusters": [
            _virtual_cluster_to_json(virtual_cluster)
            for virtual_cluster in image.virtual_clusters.by_name.values()
        ],
    }


def image_from_json(value: Json) -> Image:
    """The image that ``image_to_json`` wrote."""
    topics = [_topic(item) for item in value["topics"]]
    return Image(
        brokers=BrokersImage(
            brokers={
                id_: Broker(id=id_, rack=rack, fenced=fenced)
                for id_, rack, fenced in value["brokers"]
            }
        ),
        configs=ConfigsImage(brokers=value["configs"]),
        topics=TopicsImage(
            by_name={topic.name: topic for topic in topics},
            names={topic.topic_id: topic.name for topic in topics},
            collisions={
                collision_key(topic.name): topic.name for topic in topics if can_collide(topic.name)
            },
        ),
        acls=AclsImage(bindings=frozenset(map(binding_from_json, value["acls"]))),
        quotas=QuotasImage(
            quotas={entity_from_json(entity): quotas for entity, quotas in value["quotas"]}
        ),
        # Stores from before virtual clusters have none of these.
        groups=GroupsImage(
            groups={
                name: GroupImage(virtual_cluster=owner, committed=committed_from_json(committed))
                for name, owner, committed in value.get("groups", ())
            }
        ),
        transactions=_transactions(value.get("transactions", (0, ()))),
        virtual_clusters=build_image(map(_virtual_cluster, value.get("virtual_clusters", ()))),
    )


def _transactions(value: Json) -> TransactionsImage:
    next_producer_id, by_id = value
    return TransactionsImage(
        next_producer_id=next_producer_id,
        by_id={
            name: TransactionImage(producer_id=producer_id, epoch=epoch, open=is_open)
            for name, producer_id, epoch, is_open in by_id
        },
    )


def _virtual_cluster_to_json(virtual_cluster: VirtualCluster) -> Json:
    return [
        virtual_cluster.name,
        [[link.name, link.topic, link.topic_id] for link in virtual_cluster.links.values()],
        sorted(virtual_cluster.users),
        sorted(virtual_cluster.client_ids),
        virtual_cluster.groups,
        sorted(virtual_cluster.transactional_ids),
        options_to_json(virtual_cluster.options),
    ]


def _virtual_cluster(value: Json) -> VirtualCluster:
    name, links, users, client_ids, groups, transactional_ids, options = value
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
        options=read_options(options, "options"),
    )


def _topic(value: Json) -> TopicImage:
    name, topic_id, assignment, configs, targets, offsets, marked = value
    return TopicImage(
        name=name,
        topic_id=topic_id,
        assignment=assignment_from_json(assignment),
        configs=configs,
        targets={int(partition): tuple(target) for partition, target in targets.items()},
        offsets=offsets_from_json(offsets),
        marked_for_deletion=marked,
    )
