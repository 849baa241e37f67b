"""Builds objects, cluster states and requests of few words.

For tests of policies in Python and in YAML, and for the samples that CEL policies are tried on.
"""

from collections.abc import Iterable, Mapping, Sequence

from kgitops.model.cluster_state import Broker, ClusterState
from kgitops.model.placement import place
from kgitops.model.requests import AlterVirtualClusterRequest
from kgitops.model.resources.acls import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.quotas import ClientQuotaEntity, ClientQuotaState
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.resources.users import ScramIterations, found_users
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    EntityType,
    TopicLink,
    VirtualCluster,
    as_principal,
)
from kgitops.model.values import overlaid


def numbered(count: int) -> tuple[Broker, ...]:
    """So many brokers, with ids from 1 on."""
    return tuple(Broker(id=number) for number in range(1, count + 1))


def state_of(
    topics: Iterable[TopicState] = (),
    *,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    broker_defaults: Mapping[str, str] | None = None,
    users: Mapping[str, ScramIterations] | None = None,
) -> ClusterState:
    """A cluster with these objects; ``brokers`` are so many, or these."""
    state = ClusterState(
        cluster_id="test",
        backend="test",
        brokers=numbered(brokers) if isinstance(brokers, int) else tuple(brokers),
        topics={topic.name: topic for topic in topics},
        acls=frozenset(acls),
        quotas={
            entity: ClientQuotaState(entity=entity, quotas=dict(values))
            for entity, values in (quotas or {}).items()
        },
        virtual_clusters={one.name: one for one in virtual_clusters},
        broker_defaults=dict(broker_defaults or {}),
    )
    return state.with_objects(found_users(users or {}), Kind.USER)


def requested_topic(
    before: TopicState,
    configs: Mapping[str, str | None],
    assignment: Assignment | None = None,
    *,
    generated: bool = False,
) -> RequestedTopicState:
    """The whole topic after a request; None as the value of a config removes the key."""
    return RequestedTopicState(
        name=before.name,
        topic_id=before.topic_id,
        assignment=before.assignment if assignment is None else assignment,
        configs=overlaid(before.configs, configs),
        marked_for_deletion=before.marked_for_deletion,
        requested_configs=dict(configs),
        generated_replica_assignments=generated,
    )


def grown(name: str, before: Assignment, partitions: int, brokers: Sequence[Broker]) -> Assignment:
    """The replicas of a topic that gets so many partitions; those before stay where they are.

    Raises:
        PlacementError: the brokers can't hold them, or there are more partitions before.
    """
    factor = len(before[0])
    added = place(
        brokers, partitions=partitions, replication_factor=factor, existing=before, seed=name
    )
    return (*before, *added)


def acl(
    principal: str = "User:app",
    operation: str = "Read",
    name: str = "orders",
    *,
    resource: str = "topic",
    pattern: str = "literal",
    host: str = "*",
    permission: str = "Allow",
    virtual_cluster: str = CLUSTER_NAME,
    virtual_cluster_pattern: str = "literal",
) -> AclBinding:
    """``Allow User:app to Read the topic orders from anywhere``, but for what is given."""
    return AclBinding(
        resource_type=ResourceType(resource),
        resource_name=name,
        pattern_type=PatternType(pattern),
        principal=principal,
        host=host,
        operation=Operation(operation),
        permission_type=PermissionType(permission),
        virtual_cluster=virtual_cluster,
        virtual_cluster_pattern_type=PatternType(virtual_cluster_pattern),
    )


def virtual_cluster(
    name: str,
    *,
    users: Iterable[str] = (),
    client_ids: Iterable[str] = (),
    groups: Iterable[str] = (),
    transactional_ids: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
) -> VirtualCluster:
    """One that exists: users as ``jane`` or ``User:jane``, links to physical topics by name."""
    return VirtualCluster(
        name=name,
        users=frozenset(map(as_principal, users)),
        client_ids=frozenset(client_ids),
        groups=dict.fromkeys(groups),
        transactional_ids=frozenset(transactional_ids),
        links={link: TopicLink(name=link, topic=topic) for link, topic in (links or {}).items()},
    )


def only_member(
    user: str | None, client_id: str | None, group: str | None, transactional_id: str | None
) -> tuple[EntityType, str] | None:
    """The one member that is given; None if it is none of them, or several."""
    given = {
        EntityType.USER: user and as_principal(user),
        EntityType.CLIENT_ID: client_id,
        EntityType.GROUP: group,
        EntityType.TRANSACTIONAL_ID: transactional_id,
    }
    members = [(entity_type, name) for entity_type, name in given.items() if name]
    return members[0] if len(members) == 1 else None


def link_request(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    change: ChangeType = ChangeType.ADD,
    replaces: str | None = None,
) -> AlterVirtualClusterRequest:
    """A link to a physical topic comes, or goes."""
    return AlterVirtualClusterRequest(
        virtual_cluster=virtual_cluster,
        change=change,
        entity_type=EntityType.TOPIC,
        entity_name=link,
        topic=topic,
        replaces=replaces,
    )
