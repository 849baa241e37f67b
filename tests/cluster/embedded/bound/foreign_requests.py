"""Requests about what belongs to the virtual cluster ``hr``, as a tenant of ``sales`` asks them.

They name things as they are called in ``hr``, by physical names, and by names made of both.
"""

from collections.abc import Callable

from cluster.clusters import a_new_topic, topic_grant
from cluster.embedded.bound.tenancies import HR, SALES, on_cluster, scoped
from msgspec import Struct

from kgitops.cluster.embedded.client.admin import EmbeddedAdmin
from kgitops.cluster.embedded.client.groups.groups import CoordinatorType
from kgitops.cluster.embedded.client.transactions import ProducerId
from kgitops.cluster.embedded.client.virtual_clusters import NewVirtualCluster
from kgitops.cluster.embedded.client.virtual_clusters_batch import (
    VirtualClusterAlteration,
    VirtualClusterEntityChange,
)
from kgitops.cluster.embedded.controls.acl_filter import AclFilter, PatternFilter, exact_filter
from kgitops.cluster.embedded.controls.acls import AclAction
from kgitops.cluster.embedded.controls.configs import AlterConfig, ConfigResource
from kgitops.cluster.embedded.controls.partitions import NewPartitions
from kgitops.cluster.embedded.controls.quotas import EntityMatch, QuotaAlteration, QuotaFilter
from kgitops.cluster.embedded.controls.scram import ScramDeletion
from kgitops.model.resources.acls import CLUSTER_NAME, Operation, ResourceType
from kgitops.model.resources.quotas import VIRTUAL_CLUSTER
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import ChangeType, EntityType

PEOPLE, PHYSICAL = "people", "emea.hr.people"
NAMES = [PEOPLE, PHYSICAL, "hr/people", "hr:people", "hr.people"]
GROUP_IDS = ["hg", "hr:hg", "hr/hg", "hr.hg"]
SET = [AlterConfig(key="retention.ms", value="1")]
IN_HR = scoped(topic_grant(Operation.READ, PEOPLE, "User:b"), HR)
ON_HR = on_cluster(Operation.DESCRIBE, HR, "User:auditor")
GLOBAL = topic_grant(Operation.READ, PHYSICAL, "User:auditor")
AT_ONCE = {"timeout_ms": 1000, "validate_only": False}
REMOVED = ScramDeletion(user="b", mechanism=ScramMechanism.SHA_256)
LIMITS = [("producer_byte_rate", 5.0)]
ENTITIES = [
    ((VIRTUAL_CLUSTER, HR), ("user", "b")),
    ((VIRTUAL_CLUSTER, HR),),
    ((VIRTUAL_CLUSTER, None),),
    ((VIRTUAL_CLUSTER, SALES),),
]


class Theirs(Struct, frozen=True):
    """What belongs to ``hr``."""

    topic_id: str
    producer: ProducerId


def topic(name: str) -> ConfigResource:
    """A topic's configs."""
    return ConfigResource(type="topic", name=name)


def alteration(virtual_cluster: str, kind: EntityType, name: str, change: ChangeType):
    """One change of a virtual cluster."""
    item = VirtualClusterEntityChange(
        resource_type=kind, entity_name=name, change_type=change, link_name="new"
    )
    return [VirtualClusterAlteration(virtual_cluster_name=virtual_cluster, changes=[item])]


ADD, REMOVE = ChangeType.ADD, ChangeType.REMOVE
KEY, REMOVAL = (ResourceType.TOPIC, PEOPLE), AclAction(binding=IN_HR, is_add=False)
NEW = NewVirtualCluster(name="hr2")

# Each asks one thing, and its answers must all be refusals.
REFUSED: list[tuple[str, Callable[[EmbeddedAdmin, Theirs], object]]] = [
    *(
        (call, asks)
        for name in NAMES
        for call, asks in [
            ("metadata", lambda a, _, n=name: a.metadata([n])),
            ("delete_topics", lambda a, _, n=name: a.delete_topics([n])),
            (
                "create_partitions",
                lambda a, _, n=name: a.create_partitions([NewPartitions(topic=n, count=9)]),
            ),
            (
                "incremental_alter_configs",
                lambda a, _, n=name: a.incremental_alter_configs([(topic(n), SET)]),
            ),
            (
                "begin_to_delete_topics",
                lambda a, _, n=name: a.begin_to_delete_topics(
                    [n], topic_ids=[], **AT_ONCE, version=6
                ).wait(),
            ),
            (
                "begin_to_create_partitions",
                lambda a, _, n=name: a.begin_to_create_partitions(
                    [NewPartitions(topic=n, count=9)], **AT_ONCE
                ).wait(),
            ),
            ("find_topics", lambda a, _, n=name: a.find_topics([n]).topics),
            ("elect_leaders", lambda a, _, n=name: a.elect_leaders([(n, 0)], unclean=False)),
            ("alter_configs", lambda a, _, n=name: a.alter_configs({topic(n): {}})),
            ("describe_configs", lambda a, _, n=name: a.describe_configs([topic(n)])),
            ("delete_records", lambda a, _, n=name: a.delete_records({(n, 0): 1})),
            (
                "alter_partition_reassignments",
                lambda a, _, n=name: a.alter_partition_reassignments({(n, 0): (3, 1)}),
            ),
            ("authorize_topics", lambda a, _, n=name: a.authorize_topics(Operation.READ, [n])),
            ("offset_commit", lambda a, _, n=name: a.offset_commit("hg", {(n, 0): 1})),
            ("offset_fetch", lambda a, _, n=name: a.offset_fetch("hg", [(n, 0)]).refused),
        ]
    ),
    *(
        (call, asks)
        for group in GROUP_IDS
        for call, asks in [
            ("describe_groups", lambda a, _, g=group: a.describe_groups([g])),
            ("delete_groups", lambda a, _, g=group: a.delete_groups([g])),
            ("offset_delete", lambda a, _, g=group: a.offset_delete(g, [("orders", 0)])),
        ]
    ),
    *(
        (call, asks)
        for name in ("ht", "hr:ht")
        for call, asks in [
            ("add_offsets_to_txn", lambda a, t, n=name: a.add_offsets_to_txn(n, t.producer, "hg")),
            ("end_txn", lambda a, t, n=name: a.end_txn(n, t.producer)),
            (
                "txn_offset_commit",
                lambda a, t, n=name: a.txn_offset_commit(n, t.producer, "hg", {("orders", 0): 1}),
            ),
            (
                "add_partitions_to_txn",
                lambda a, t, n=name: a.add_partitions_to_txn(n, t.producer, [("orders", 0)]),
            ),
            ("describe_transactions", lambda a, _, n=name: a.describe_transactions([n])),
        ]
    ),
    *(
        ("alter_client_quotas", lambda a, _, e=entity: a.alter_client_quotas(
            [QuotaAlteration(entity=e, operations=LIMITS)]))
        for entity in ENTITIES
    ),
    ("delete_topics", lambda a, t: a.delete_topics(topic_ids=[t.topic_id])),
    ("find_topic_ids", lambda a, t: a.find_topic_ids([t.topic_id]).topics),
    ("describe_user_scram_credentials", lambda a, _: a.describe_user_scram_credentials(["b"])),
    (
        "alter_user_scram_credentials",
        lambda a, _: a.alter_user_scram_credentials(deletions=[REMOVED]),
    ),
    *(
        (call, asks)
        for acl in (IN_HR, ON_HR, scoped(GLOBAL, "*"), scoped(GLOBAL, "h", prefixed=True))
        for call, asks in [
            ("create_acls", lambda a, _, b=acl: a.create_acls([b])),
            ("delete_acls", lambda a, _, b=acl: a.delete_acls([exact_filter(b)])),
        ]
    ),
    ("create_acls", lambda a, _: a.create_acls([on_cluster(Operation.ALTER, CLUSTER_NAME)])),
    ("create_acls", lambda a, _: a.create_acls([on_cluster(Operation.ALTER, "", prefixed=True)])),
    ("delete_acls", lambda a, _: a.delete_acls([AclFilter(virtual_cluster=None)])),
    ("describe_acls", lambda a, _: a.describe_acls(AclFilter(virtual_cluster=HR))),
    ("describe_acls", lambda a, _: a.describe_acls(AclFilter(virtual_cluster=None))),
    ("describe_acls", lambda a, _: a.describe_acls(exact_filter(ON_HR))),
    ("alter_acls", lambda a, _: a.alter_acls([(KEY, [REMOVAL])])[KEY]),
    (
        "describe_client_quotas",
        lambda a, _: a.describe_client_quotas(
            [QuotaFilter(entity_type=VIRTUAL_CLUSTER, match=EntityMatch.EXACT, name=HR)]
        ),
    ),
    ("create_virtual_clusters", lambda a, _: a.create_virtual_clusters([NEW])),
    ("delete_virtual_clusters", lambda a, _: a.delete_virtual_clusters([HR])),
    ("describe_virtual_clusters", lambda a, _: a.describe_virtual_clusters([HR])),
    *(
        ("alter_virtual_clusters", lambda a, _, what=what: a.alter_virtual_clusters(
            alteration(*what)))
        for what in [
            (HR, EntityType.USER, "User:a", ADD),
            (HR, EntityType.USER, "User:b", REMOVE),
            (HR, EntityType.TOPIC, PHYSICAL, REMOVE),
            (HR, EntityType.TOPIC, PHYSICAL, ADD),
            (SALES, EntityType.TOPIC, PHYSICAL, ADD),
            (SALES, EntityType.USER, "User:b", ADD),
            (SALES, EntityType.CLIENT_ID, "hr-app", ADD),
        ]
    ),
]  # fmt: skip

# Each may be answered: with nothing of theirs.
ANSWERED: list[tuple[str, Callable[[EmbeddedAdmin, Theirs], object]]] = [
    ("metadata", lambda a, _: a.metadata()),
    ("describe_cluster", lambda a, _: a.describe_cluster().controller_id),
    ("list_partition_reassignments", lambda a, _: a.list_partition_reassignments()),
    ("describe_acls", lambda a, _: a.describe_acls(AclFilter(pattern=PatternFilter.ANY))),
    ("delete_acls", lambda a, _: a.delete_acls([AclFilter(pattern=PatternFilter.ANY)])),
    ("describe_client_quotas", lambda a, _: a.describe_client_quotas()),
    ("list_groups", lambda a, _: a.list_groups()),
    ("offset_fetch", lambda a, _: [a.offset_fetch(group) for group in GROUP_IDS]),
    ("list_virtual_clusters", lambda a, _: a.list_virtual_clusters()),
    ("find_topics", lambda a, _: a.find_topics(None).topics),
    ("topic_names", lambda a, t: a.topic_names([t.topic_id])),
    ("allowed_cluster_operations", lambda a, _: a.allowed_cluster_operations()),
    ("describe_log_dir", lambda a, _: [a.describe_log_dir(broker) for broker in (1, 2, 3)]),
    ("list_config_resources", lambda a, _: a.list_config_resources()),
]

# Each makes something of the tenant's own that is called as it is there.
OWN: list[tuple[str, Callable[[EmbeddedAdmin, Theirs], object]]] = [
    ("create_topics", lambda a, _: a.create_topics([a_new_topic(PEOPLE), a_new_topic(PHYSICAL)])),
    (
        "begin_to_create_topics",
        lambda a, _: a.begin_to_create_topics([a_new_topic(PEOPLE)], **AT_ONCE, version=7).wait(),
    ),
    ("missing", lambda a, _: a.missing(a.find_topics(NAMES))),
    ("creatable", lambda a, _: a.creatable(NAMES)),
    ("create_missing", lambda a, _: a.create_missing(a.find_topics([PEOPLE]))),
    ("allowed_operations", lambda a, _: a.allowed_operations(ResourceType.TOPIC, NAMES)),
    ("list_transactions", lambda a, _: a.list_transactions()),
    ("transaction_to_write", lambda a, _: a.transaction_to_write("ht")),
    ("init_producer_id", lambda a, _: [a.init_producer_id(name) for name in ("ht", "hr:ht")]),
    ("find_coordinator", lambda a, _: a.find_coordinator(["hg", "hr:hg"])),
    ("find_coordinator", lambda a, _: a.find_coordinator(["ht"], CoordinatorType.TRANSACTION)),
    ("offset_commit", lambda a, _: [a.offset_commit(g, {("orders", 0): 1}) for g in GROUP_IDS]),
    ("group_topics", lambda a, _: [a.group_topics(["prices", "people", PEOPLE])]),
    ("create_group", lambda a, _: [a.create_group(g) for g in GROUP_IDS]),
]
