"""Builders for tests of policies: a state, a request and a verdict in five lines, no cluster.

::

    def test_orders_are_protected() -> None:
        refused = violation(Protected(), delete_topic("orders"), cluster(topic("orders")))
        assert refused is not None
        assert "orders" in refused.message

What a request leaves behind is computed as a cluster would: ``configs`` of an altered topic are
its true configs afterwards, and a key that is set to None is removed (P201-25…27).
"""

from collections.abc import Iterable, Mapping, Sequence

from kgitops.model.acls import AclBinding, Operation, PatternType, PermissionType, ResourceType
from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as WholeState
from kgitops.model.placement import place, reassign
from kgitops.model.quotas import ClientQuotaEntity, ClientQuotaState, make_entity
from kgitops.model.topics import Assignment, RequestedTopicState, TopicState
from kgitops.policy.cluster_state import ClusterState
from kgitops.policy.interfaces import Configurable
from kgitops.policy.principal import ANONYMOUS, Principal
from kgitops.policy.python_rule import METHODS, PythonRule, api_of
from kgitops.policy.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterTopicRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    PolicyRequest,
    VirtualClusterRequest,
)
from kgitops.policy.rules import Level
from kgitops.policy.states import RequestedBrokerState, RequestedQuotaState
from kgitops.policy.violation import PolicyViolation
from kgitops.policy.world import World, after_quotas, read_only

__all__ = [
    "acl",
    "alter_broker",
    "alter_client_quota",
    "alter_topic",
    "cluster",
    "create_acl",
    "create_topic",
    "delete_acl",
    "delete_records",
    "delete_topic",
    "entity",
    "topic",
    "violation",
]

Assignments = Mapping[int, Sequence[int]]
"""Partition id, from 0 on, to the ids of the brokers that hold it."""


def topic(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    *,
    configs: Mapping[str, str] | None = None,
    assignments: Assignments | None = None,
    marked_for_deletion: bool = False,
) -> TopicState:
    """A topic that exists; with ``assignments`` the two counts follow from them."""
    return TopicState(
        name=name,
        topic_id=None,
        assignment=_assignment(name, partitions, replication_factor, assignments),
        configs=dict(configs or {}),
        marked_for_deletion=marked_for_deletion,
    )


def create_topic(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    *,
    configs: Mapping[str, str] | None = None,
    assignments: Assignments | None = None,
    principal: str = str(ANONYMOUS),
) -> CreateTopicRequest:
    """A topic is asked for; without ``assignments`` they count as generated (P201-23)."""
    requested = RequestedTopicState(
        name=name,
        topic_id=None,
        assignment=_assignment(name, partitions, replication_factor, assignments),
        configs=dict(configs or {}),
        requested_configs=dict(configs or {}),
        generated_replica_assignments=assignments is None,
    )
    return CreateTopicRequest(
        topic=name, principal=Principal.parse(principal), requested_state=read_only(requested)
    )


def alter_topic(
    before: TopicState,
    *,
    configs: Mapping[str, str | None] | None = None,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignments: Assignments | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterTopicRequest:
    """A change of ``before``; None as the value of a config removes the key.

    Raises:
        PlacementError: fewer partitions or a replication factor that no topic can have.
    """
    requested = configs or {}
    after = before.assignment
    if replication_factor is not None:
        after = reassign(
            _brokers(after, replication_factor), after, replication_factor=replication_factor
        )
    if partitions is not None:
        factor = len(after[0])
        grown = place(
            _brokers(after, factor),
            partitions=partitions,
            replication_factor=factor,
            existing=after,
            seed=before.name,
        )
        after = (*after, *grown)
    generated = after != before.assignment
    if assignments is not None:
        after = _assignment(before.name, 1, 1, assignments)
    state = RequestedTopicState(
        name=before.name,
        topic_id=before.topic_id,
        assignment=after,
        configs=_overlaid(before.configs, requested),
        marked_for_deletion=before.marked_for_deletion,
        requested_configs=dict(requested),
        generated_replica_assignments=generated,
    )
    return AlterTopicRequest(
        topic=before.name, principal=Principal.parse(principal), requested_state=read_only(state)
    )


def delete_topic(name: str, *, principal: str = str(ANONYMOUS)) -> DeleteTopicRequest:
    """A topic is to be deleted."""
    return DeleteTopicRequest(topic=name, principal=Principal.parse(principal))


def delete_records(
    name: str, offsets: Mapping[int, int], *, principal: str = str(ANONYMOUS)
) -> DeleteRecordsRequest:
    """Records are to be deleted; partition id to the first offset that is kept."""
    return DeleteRecordsRequest(
        topic=name, principal=Principal.parse(principal), deleted_message_offsets=dict(offsets)
    )


def acl(
    principal: str = "User:app",
    operation: str = "Read",
    name: str = "orders",
    *,
    resource: str = "topic",
    pattern: str = "literal",
    host: str = "*",
    permission: str = "Allow",
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
    )


def create_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> CreateAclRequest:
    """A binding is to be added; ``principal`` asks."""
    return CreateAclRequest(principal=Principal.parse(principal), binding=binding)


def delete_acl(binding: AclBinding, *, principal: str = str(ANONYMOUS)) -> DeleteAclRequest:
    """A binding is to be removed; ``principal`` asks."""
    return DeleteAclRequest(principal=Principal.parse(principal), binding=binding)


def entity(**names: str | None) -> ClientQuotaEntity:
    """``entity(user="app", client_id=None)``: None is the default of that type."""
    return make_entity({kind.replace("_", "-"): name for kind, name in names.items()})


def alter_client_quota(
    of: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    *,
    before: Mapping[str, float] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterClientQuotaRequest:
    """Quotas of an entity that had ``before``; None as a value removes the key."""
    return AlterClientQuotaRequest(
        entity=of,
        principal=Principal.parse(principal),
        requested_state=RequestedQuotaState(
            quotas=after_quotas(before or {}, quotas), requested_quotas=dict(quotas)
        ),
    )


def alter_broker(
    broker_id: int,
    configs: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterBrokerRequest:
    """Configs of a broker that had ``before``; None as a value removes the key."""
    return AlterBrokerRequest(
        broker_id=broker_id,
        principal=Principal.parse(principal),
        requested_state=RequestedBrokerState(
            configs=_overlaid(before or {}, configs), requested_configs=dict(configs)
        ),
    )


def cluster(
    *topics: TopicState,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    broker_configs: Mapping[str, str] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
) -> ClusterState:
    """What a policy sees of a cluster that holds this.

    ``brokers`` is their number, with ids from 1 on, or the brokers with their racks.
    ``broker_configs`` are those of the node that evaluates (P201-40); ``broker_defaults`` what
    topics get that set nothing.
    """
    state = WholeState(
        cluster_id="test",
        backend="test",
        brokers=_numbered(brokers) if isinstance(brokers, int) else tuple(brokers),
        topics={topic.name: topic for topic in topics},
        acls=frozenset(acls),
        quotas={
            key: ClientQuotaState(entity=key, quotas=dict(values))
            for key, values in (quotas or {}).items()
        },
        broker_defaults=dict(broker_defaults or {}),
    )
    return ClusterState(World(state), broker_configs)


def violation(
    policy: Configurable,
    request: PolicyRequest | VirtualClusterRequest,
    cluster_state: ClusterState | None = None,
) -> PolicyViolation | None:
    """Why the policy refuses the request; None where it accepts it.

    Without ``cluster_state`` the cluster is empty. Whatever else the policy raises is raised.

    Raises:
        TypeError: the policy implements no interface for this kind of request, or returned
            something.
    """
    api = api_of(request)
    interface, _ = METHODS[api]
    if not isinstance(policy, interface):
        raise TypeError(f"{type(policy).__name__} is no {interface.__name__}: it never sees {api}")
    rule = PythonRule(type(policy).__name__, Level.HARD, policy)
    for found in rule.look(api, request, cluster() if cluster_state is None else cluster_state):
        return PolicyViolation(found.message, field=found.field)
    return None


def _assignment(
    name: str, partitions: int, replication_factor: int, assignments: Assignments | None
) -> Assignment:
    if assignments is not None:
        return tuple(tuple(assignments[partition]) for partition in sorted(assignments))
    return place(
        _brokers((), replication_factor),
        partitions=partitions,
        replication_factor=replication_factor,
        seed=name,
    )


def _brokers(assignment: Assignment, replication_factor: int) -> tuple[Broker, ...]:
    used = {broker for replicas in assignment for broker in replicas}
    return _numbered(max(3, replication_factor, *used))


def _numbered(count: int) -> tuple[Broker, ...]:
    return tuple(Broker(id=number) for number in range(1, count + 1))


def _overlaid(before: Mapping[str, str], requested: Mapping[str, str | None]) -> dict[str, str]:
    merged = {**before, **requested}
    return {key: value for key, value in merged.items() if value is not None}
