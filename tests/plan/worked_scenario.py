"""Section 24 of KIP-1134's rules as values: a cluster, and what is declared commit by commit."""

from collections.abc import Iterable

from builders import (
    Place,
    a_binding,
    a_cluster,
    a_desired,
    a_quota,
    a_topic,
    a_topic_state,
    an_acl,
    an_owner,
    id_of,
    in_turn,
)

from kgitops.desired.state import DesiredState, Safety
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import (
    DeletionPolicy,
    DesiredAcl,
    DesiredLink,
    DesiredMember,
    DesiredObject,
    DesiredTopic,
    DesiredVirtualCluster,
    MembersMode,
    Tombstone,
)
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.addresses import (
    acl_address,
    local_topic_address,
    member_address,
    virtual_cluster_address,
)
from kgitops.model.resources.quotas import (
    CLIENT_ID,
    USER,
    VIRTUAL_CLUSTER,
    ClientQuotaState,
    make_entity,
)
from kgitops.model.resources.virtual_clusters import EntityType, LocalName, LoweringOptions

STREAM = "emea.eu.sales.SalesStream"
SALES, ANALYTICS = "emea.sales", "analytics"
APP, READER = "User:sales-app", "User:ana-reader"
NO_LIMITS = Safety(max_deletes=1000, max_delete_percent=100, replication_throttle=0)


def a_virtual_cluster(
    name: str = SALES,
    *,
    mode: MembersMode = MembersMode.AUTHORITATIVE,
    options: LoweringOptions | None = None,
    deletion_policy: DeletionPolicy | None = None,
) -> DesiredVirtualCluster:
    """A declared virtual cluster without its members."""
    return DesiredVirtualCluster(
        address=virtual_cluster_address(name),
        name=name,
        mode=mode,
        options=options or LoweringOptions(),
        deletion_policy=deletion_policy or DeletionPolicy.PROTECT,
        deletion_policy_written=deletion_policy is not None,
        located=Place(f"{name}.yaml"),
    )


def a_local_topic(
    name: str = "Orders",
    *,
    at: str = SALES,
    partitions: int = 3,
    configs: dict[str, str] | None = None,
    share_with: tuple[str, ...] = (),
    deletion_policy: DeletionPolicy | None = None,
) -> DesiredTopic:
    """A topic that is declared in a virtual cluster."""
    return DesiredTopic(
        address=local_topic_address(LocalName(at, name)),
        name=name,
        virtual_cluster=at,
        partitions=partitions,
        replication_factor=3,
        configs=configs or {},
        share_with=share_with,
        deletion_policy=deletion_policy or DeletionPolicy.PROTECT,
        deletion_policy_written=deletion_policy is not None,
        located=Place(f"{name}.yaml"),
    )


def a_link(
    name: str,
    to: str | LocalName,
    *,
    at: str = SALES,
    deletion_policy: DeletionPolicy | None = None,
) -> DesiredLink:
    """A declared link to a physical topic, or to where another link leads."""
    local = LocalName(at, name)
    return DesiredLink(
        address=member_address(at, EntityType.TOPIC, name),
        virtual_cluster=local.virtual_cluster,
        name=local.name,
        topic=to if isinstance(to, str) else None,
        target=to if isinstance(to, LocalName) else None,
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place(f"{name}.yaml"),
    )


def a_member(
    name: str = APP,
    *,
    at: str = SALES,
    entity_type: EntityType = EntityType.USER,
    copy: str | None = None,
    remove: str | None = None,
    move: bool = False,
    adopt: str | None = None,
    copy_offsets: bool = True,
    deletion_policy: DeletionPolicy | None = None,
) -> DesiredMember:
    """A declared member, a user if nothing else is said."""
    return DesiredMember(
        address=member_address(at, entity_type, name),
        virtual_cluster=at,
        entity_type=entity_type,
        name=name,
        copy_acls_from=copy,
        remove_old_acls_from=remove,
        move=move,
        adopt=adopt,
        copy_offsets=copy_offsets,
        deletion_policy=deletion_policy or DeletionPolicy.DELETE,
        deletion_policy_written=deletion_policy is not None,
        located=Place(f"{at}.yaml"),
    )


def a_group(name: str, *, at: str = SALES, adopt: str | None = None) -> DesiredMember:
    """A declared group."""
    return a_member(name, at=at, entity_type=EntityType.GROUP, adopt=adopt)


def an_acl_in(at: str, principal: str, operation: str, name: str, **more: str) -> DesiredAcl:
    """A declared binding on a name of a virtual cluster."""
    return an_acl(scoped(at, principal, operation, name, **more))


def scoped(at: str, principal: str, operation: str, name: str, **more: str) -> AclBinding:
    """A binding on a name of a virtual cluster."""
    return a_binding(principal, operation, name, virtual_cluster=at, **more)


def a_quota_in(at: str | None, **parts: object) -> DesiredObject:
    """Quotas of a virtual cluster, or of a user or client id in it."""
    names = {USER: "user", CLIENT_ID: "client_id"}
    entity = {VIRTUAL_CLUSTER: at}
    entity |= {kind: parts.pop(key) for kind, key in names.items() if key in parts}  # type: ignore[misc]
    return a_quota(make_entity(entity), **parts)  # type: ignore[arg-type]


G1 = a_binding(APP, "Read", "emea.eu.sales.", pattern="prefixed")
G2 = a_binding(APP, "Write", "emea.eu.sales.", pattern="prefixed")
G3 = a_binding(APP, "Read", "sales-etl", resource="group")
GLOBAL_TOPIC = a_topic(STREAM, partitions=12, replication_factor=3)
GLOBAL_QUOTA = a_quota(make_entity({USER: "sales-app"}), producer_byte_rate=5242880)


def before() -> ClusterState:
    """24.1: what is there before there is any virtual cluster."""
    topic = a_topic_state(STREAM, assignment=in_turn(12, 3))
    owners = {
        GLOBAL_TOPIC.address: an_owner(GLOBAL_TOPIC, topic_id=id_of(STREAM)),
        GLOBAL_QUOTA.address: an_owner(GLOBAL_QUOTA),
    }
    quota = ClientQuotaState(entity=GLOBAL_QUOTA.entity, quotas=GLOBAL_QUOTA.quotas)
    return a_cluster(topic, G1, G2, G3, quota, owners=owners)


def of_sales(
    *, delete: DeletionPolicy | None = None, prefixed: bool = True, remove: str | None = None
) -> list[DesiredObject]:
    """What is declared in emea.sales."""
    links = [a_link("SalesStream", STREAM)]
    if prefixed:
        links.append(a_link(STREAM, STREAM))
    admin = a_binding("User:sales-admin", "AlterVirtualCluster", SALES, resource="cluster")
    return [
        a_virtual_cluster(SALES, deletion_policy=delete),
        a_local_topic(
            "Orders",
            partitions=6,
            configs={"retention.ms": "604800000"},
            share_with=(ANALYTICS,),
            deletion_policy=delete,
        ),
        *links,
        a_group("sales-etl", adopt="sales-etl"),
        a_member(APP, copy="kafka-cluster", remove=remove),
        an_acl_in(SALES, APP, "Read", "Orders"),
        an_acl_in(SALES, APP, "Write", "Orders"),
        an_acl_in(SALES, APP, "Write", "sales-", resource="transactionalId", pattern="prefixed"),
        an_acl(admin),
        a_quota_in(None, consumer_byte_rate=52428800),
        a_quota_in(SALES, producer_byte_rate=20971520),
        a_quota_in(SALES, user="sales-app", producer_byte_rate=10485760),
    ]


def of_analytics(delete: DeletionPolicy | None = None) -> list[DesiredObject]:
    """What is declared in analytics."""
    return [
        a_virtual_cluster(ANALYTICS, deletion_policy=delete),
        a_local_topic("Reports", at=ANALYTICS, deletion_policy=delete),
        a_link("sales.orders", LocalName(SALES, "Orders"), at=ANALYTICS),
        a_member(READER, at=ANALYTICS),
        an_acl_in(ANALYTICS, READER, "Read", "sales.orders"),
        an_acl_in(ANALYTICS, READER, "Write", "Reports"),
        an_acl_in(ANALYTICS, READER, "Read", "rpt-", resource="group", pattern="prefixed"),
        a_quota_in(ANALYTICS, user=None, consumer_byte_rate=10485760),
    ]


def wanted(*objects: DesiredObject | Tombstone, safety: Safety = NO_LIMITS) -> DesiredState:
    """These beside what is global."""
    return a_desired(GLOBAL_TOPIC, GLOBAL_QUOTA, *objects, safety=safety)


def commit_1(delete: DeletionPolicy | None = None) -> DesiredState:
    """24.2."""
    return wanted(*of_analytics(delete), *of_sales(delete=delete))


def copied(*bindings: AclBinding) -> Iterable[str]:
    """The addresses of what is copied for the user of emea.sales."""
    return map(acl_address, bindings)
