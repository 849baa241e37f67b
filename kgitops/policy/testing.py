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
from typing import TypeVar

from msgspec.structs import replace

from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker
from kgitops.model.cluster_state import ClusterState as WholeState
from kgitops.model.placement import place, reassign
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.acls import AclBinding
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.quotas import ClientQuotaEntity, make_entity
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import (
    ChangeType,
    LocalName,
    VirtualCluster,
    default_link_name,
    generated_topic_name,
)
from kgitops.policy.api.interfaces import ClusterState, Configurable, PolicyViolation
from kgitops.policy.api.requests import (
    ANONYMOUS,
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    AlterVirtualClusterRequest,
    CreateAclRequest,
    CreateTopicLinkRequest,
    CreateTopicRequest,
    CreateVirtualClusterRequest,
    DeleteAclRequest,
    DeleteConsumerGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicLinkRequest,
    DeleteTopicRequest,
    DeleteVirtualClusterRequest,
    PolicyRequest,
    Principal,
    api_of,
)
from kgitops.policy.building import (
    acl,
    grown,
    link_request,
    numbered,
    only_member,
    requested_topic,
    state_of,
    virtual_cluster,
)
from kgitops.policy.evaluate.bundle import Level
from kgitops.policy.evaluate.policy_input import build_request
from kgitops.policy.python_rule import METHODS, PythonRule
from kgitops.policy.state import SimulatedState

__all__ = [
    "acl",
    "alter_broker",
    "alter_client_metrics",
    "alter_client_quota",
    "alter_consumer_group_offsets",
    "alter_group_configs",
    "alter_topic",
    "alter_user_scram_credentials",
    "alter_virtual_cluster",
    "cluster",
    "create_acl",
    "create_topic",
    "create_topic_link",
    "create_virtual_cluster",
    "delete_acl",
    "delete_consumer_group",
    "delete_records",
    "delete_topic",
    "delete_topic_link",
    "delete_virtual_cluster",
    "entity",
    "labelled",
    "topic",
    "violation",
    "virtual_cluster",
]

NOBODY = str(ANONYMOUS)
R = TypeVar("R", bound=PolicyRequest)


def cluster(
    *topics: TopicState,
    brokers: int | Iterable[Broker] = 3,
    acls: Iterable[AclBinding] = (),
    quotas: Mapping[ClientQuotaEntity, Mapping[str, float]] | None = None,
    virtual_clusters: Iterable[VirtualCluster] = (),
    broker_configs: Mapping[str, str] | None = None,
    broker_defaults: Mapping[str, str] | None = None,
    users: Mapping[str, Mapping[str, int]] | None = None,
) -> ClusterState:
    """Build a cluster with these objects, as a policy sees it.

    ``brokers`` is their number, with ids from 1 on, or the brokers with their racks.
    ``broker_configs`` are those of the node that evaluates (P201-40); ``broker_defaults`` are the
    configs of topics that set none; ``users`` have iterations by mechanism.
    """
    state = state_of(
        topics,
        brokers=brokers,
        acls=acls,
        quotas=quotas,
        virtual_clusters=virtual_clusters,
        broker_defaults=broker_defaults,
        users={
            user: {ScramMechanism(name): known for name, known in held.items()}
            for user, held in (users or {}).items()
        },
    )
    return ClusterState(SimulatedState(state), broker_configs)


def asked(
    kind: type[R],
    request: req.Request,
    principal: str,
    state: WholeState | None = None,
    broker_configs: Mapping[str, str] | None = None,
) -> R:
    """The request as a policy is asked about it in ``state``, or in an empty cluster."""
    simulated = SimulatedState(state or state_of())
    made = build_request(request, Principal.parse(principal), simulated, broker_configs or {})
    assert isinstance(made, kind)  # noqa: S101 (each kind becomes the one of its name)
    return made


def labelled(request: R, labels: Mapping[str, str]) -> R:
    """The request as from a document with these ``metadata.labels``."""
    return replace(request, labels=dict(labels))


def violation(
    policy: Configurable,
    request: PolicyRequest,
    cluster_state: ClusterState | None = None,
) -> PolicyViolation | None:
    """The violation by which the policy refuses the request; None where it accepts it.

    Without ``cluster_state`` the cluster is empty. Other exceptions of the policy come out.

    Raises:
        TypeError: the policy implements no interface for this kind of request, or returned
            something.
    """
    api = api_of(request)
    interface, _ = METHODS[api]
    if not isinstance(policy, interface):
        raise TypeError(
            f"{type(policy).__name__} is not a {interface.__name__}: it never sees {api}"
        )
    rule = PythonRule(type(policy).__name__, Level.HARD, policy)
    for found in rule.violations(
        api, request, cluster() if cluster_state is None else cluster_state
    ):
        return PolicyViolation(found.message, field=found.field)
    return None


Assignments = Mapping[int, Sequence[int]]
"""Partition id, from 0 on, to the ids of the brokers that hold it."""


def _assignment_of(
    name: str, partitions: int, replication_factor: int, assignments: Assignments | None
) -> Assignment:
    """The replicas that ``assignments`` give; without them they are placed evenly."""
    if assignments is not None:
        return tuple(tuple(assignments[partition]) for partition in sorted(assignments))
    return place(
        _brokers_for((), replication_factor),
        partitions=partitions,
        replication_factor=replication_factor,
        seed=name,
    )


def _brokers_for(assignment: Assignment, replication_factor: int) -> tuple[Broker, ...]:
    """Brokers that hold ``assignment`` and can hold so many replicas, three at least."""
    used = {broker for replicas in assignment for broker in replicas}
    return numbered(max(3, replication_factor, *used))


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
        assignment=_assignment_of(name, partitions, replication_factor, assignments),
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
    virtual_cluster: str | None = None,
    principal: str = NOBODY,
) -> CreateTopicRequest:
    """A topic is asked for; without ``assignments`` they count as generated (P201-23).

    With ``virtual_cluster`` it is made there, and ``name`` is its name there (VC-056).
    """
    physical_name = name if virtual_cluster is None else generated_topic_name(NEW_UUID, name)
    placed = _assignment_of(name, partitions, replication_factor, assignments)
    new = TopicState(name=physical_name, topic_id=None, assignment=placed)
    request = req.CreateTopicRequest(
        topic=physical_name,
        requested_state=requested_topic(new, configs or {}, generated=assignments is None),
        local=_local(virtual_cluster, physical_name),
    )
    return asked(CreateTopicRequest, request, principal)


def alter_topic(
    before: TopicState,
    *,
    configs: Mapping[str, str | None] | None = None,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignments: Assignments | None = None,
    virtual_cluster: str | None = None,
    principal: str = NOBODY,
) -> AlterTopicRequest:
    """A change of ``before``; None as the value of a config removes the key.

    With ``virtual_cluster`` the topic was made there: its name begins with a uuid.

    Raises:
        PlacementError: fewer partitions or a replication factor that no topic can have.
    """
    after = before.assignment
    if replication_factor is not None:
        after = reassign(
            _brokers_for(after, replication_factor), after, replication_factor=replication_factor
        )
    if partitions is not None:
        after = grown(before.name, after, partitions, _brokers_for(after, len(after[0])))
    generated = after != before.assignment
    if assignments is not None:
        after = _assignment_of(before.name, 1, 1, assignments)
    request = req.AlterTopicRequest(
        topic=before.name,
        topic_id="",
        step=req.AlterStep.CONFIGS,
        requested_state=requested_topic(before, configs or {}, after, generated=generated),
        local=_local(virtual_cluster, before.name),
    )
    return asked(AlterTopicRequest, request, principal)


def delete_topic(
    name: str, *, virtual_cluster: str | None = None, principal: str = NOBODY
) -> DeleteTopicRequest:
    """A topic is to be deleted, by its physical name."""
    request = req.DeleteTopicRequest(topic=name, topic_id="", local=_local(virtual_cluster, name))
    return asked(DeleteTopicRequest, request, principal)


def delete_records(
    name: str,
    offsets: Mapping[int, int],
    *,
    virtual_cluster: str | None = None,
    principal: str = NOBODY,
) -> DeleteRecordsRequest:
    """Records are to be deleted; partition id to the first offset that is kept."""
    request = req.DeleteRecordsRequest(
        topic=name,
        topic_id="",
        deleted_message_offsets=offsets,
        local=_local(virtual_cluster, name),
    )
    return asked(DeleteRecordsRequest, request, principal)


def _local(virtual_cluster: str | None, topic: str) -> LocalName | None:
    if virtual_cluster is None:
        return None
    new = topic.removeprefix(f"{NEW_UUID}.")
    return LocalName(virtual_cluster, default_link_name(new))


def create_acl(binding: AclBinding, *, principal: str = NOBODY) -> CreateAclRequest:
    """A binding is to be added; ``principal`` asks."""
    return asked(CreateAclRequest, req.CreateAclRequest(binding=binding), principal)


def delete_acl(binding: AclBinding, *, principal: str = NOBODY) -> DeleteAclRequest:
    """A binding is to be removed; ``principal`` asks."""
    return asked(DeleteAclRequest, req.DeleteAclRequest(binding=binding), principal)


def entity(**names: str | None) -> ClientQuotaEntity:
    """``entity(user="app", client_id=None)``: None is the default of that type."""
    return make_entity({kind.replace("_", "-"): name for kind, name in names.items()})


def alter_client_quota(
    of: ClientQuotaEntity,
    quotas: Mapping[str, float | None],
    *,
    before: Mapping[str, float] | None = None,
    principal: str = NOBODY,
) -> AlterClientQuotaRequest:
    """Quotas of an entity that had ``before``; None as a value removes the key."""
    request = req.AlterClientQuotaRequest(entity=of, quotas=quotas)
    state = state_of(quotas={of: before} if before else {})
    return asked(AlterClientQuotaRequest, request, principal, state)


def alter_broker(
    broker_id: int,
    configs: Mapping[str, str | None],
    *,
    before: Mapping[str, str] | None = None,
    principal: str = NOBODY,
) -> AlterBrokerRequest:
    """Configs of a broker that had ``before``; None as a value removes the key."""
    request = req.AlterBrokerRequest(broker=broker_id, configs=configs)
    return asked(AlterBrokerRequest, request, principal, broker_configs=before)


def alter_user_scram_credentials(
    user: str,
    mechanism: str,
    iterations: int | None,
    *,
    before: Mapping[str, int] | None = None,
    principal: str = NOBODY,
) -> AlterUserScramCredentialsRequest:
    """A mechanism of a user that had ``before`` is set; None as iterations removes it."""
    request = req.AlterUserScramCredentialsRequest(
        user=user, mechanism=ScramMechanism(mechanism), iterations=iterations
    )
    held = {ScramMechanism(name): known for name, known in (before or {}).items()}
    state = state_of(users={user: held} if held else {})
    return asked(AlterUserScramCredentialsRequest, request, principal, state)


_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def alter_group_configs(
    group: str, configs: Mapping[str, str | None], *, principal: str = NOBODY
) -> AlterConfigResourceRequest:
    """Configs of a group; None as a value removes the key."""
    return _configs(ConfigResourceType.GROUP, group, configs, principal)


def alter_client_metrics(
    name: str, configs: Mapping[str, str | None], *, principal: str = NOBODY
) -> AlterConfigResourceRequest:
    """Configs of a subscription to clients' metrics; None as a value removes the key."""
    return _configs(ConfigResourceType.CLIENT_METRICS, name, configs, principal)


def alter_consumer_group_offsets(
    group: str, offsets: Mapping[str, Mapping[int, int]], *, principal: str = NOBODY
) -> AlterConsumerGroupOffsetsRequest:
    """Offsets of a group are to be set, by topic and partition."""
    topics = tuple(
        TopicOffsets(topic=topic, topic_id=_TOPIC_ID, offsets=partitions)
        for topic, partitions in offsets.items()
    )
    request = req.AlterConsumerGroupOffsetsRequest(group=group, topics=topics)
    return asked(AlterConsumerGroupOffsetsRequest, request, principal)


def delete_consumer_group(group: str, *, principal: str = NOBODY) -> DeleteConsumerGroupRequest:
    """A group is to be deleted."""
    request = req.DeleteConsumerGroupRequest(group=group)
    return asked(DeleteConsumerGroupRequest, request, principal)


def _configs(
    kind: ConfigResourceType, name: str, configs: Mapping[str, str | None], principal: str
) -> AlterConfigResourceRequest:
    request = req.AlterConfigResourceRequest(
        resource_type=kind, resource_name=name, configs=configs
    )
    return asked(AlterConfigResourceRequest, request, principal)


def create_virtual_cluster(name: str, *, principal: str = NOBODY) -> CreateVirtualClusterRequest:
    """A virtual cluster is asked for."""
    request = req.CreateVirtualClusterRequest(virtual_cluster=name)
    return asked(CreateVirtualClusterRequest, request, principal)


def alter_virtual_cluster(
    before: VirtualCluster,
    *,
    user: str | None = None,
    client_id: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
    remove: bool = False,
    moved_from: str | None = None,
    adopts: str | None = None,
    principal: str = NOBODY,
) -> AlterVirtualClusterRequest:
    """One member of ``before`` is added, or removed.

    Raises:
        ValueError: not exactly one member is given.
    """
    member = only_member(user, client_id, group, transactional_id)
    if member is None:
        raise ValueError("give exactly one of user, client_id, group and transactional_id")
    request = req.AlterVirtualClusterRequest(
        virtual_cluster=before.name,
        change=ChangeType.REMOVE if remove else ChangeType.ADD,
        entity_type=member[0],
        entity_name=member[1],
        moved_from=moved_from,
        adopts=adopts,
    )
    state = state_of(virtual_clusters=[before])
    return asked(AlterVirtualClusterRequest, request, principal, state)


def delete_virtual_cluster(name: str, *, principal: str = NOBODY) -> DeleteVirtualClusterRequest:
    """A virtual cluster is to be deleted."""
    request = req.DeleteVirtualClusterRequest(virtual_cluster=name)
    return asked(DeleteVirtualClusterRequest, request, principal)


def create_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = NOBODY,
) -> CreateTopicLinkRequest:
    """A link to a physical topic is asked for; ``among`` are the virtual clusters that exist."""
    request = link_request(virtual_cluster, link, topic)
    state = state_of(virtual_clusters=among)
    return asked(CreateTopicLinkRequest, request, principal, state)


def delete_topic_link(
    virtual_cluster: str,
    link: str,
    topic: str,
    *,
    among: Iterable[VirtualCluster] = (),
    principal: str = NOBODY,
) -> DeleteTopicLinkRequest:
    """A link to a physical topic is to be removed."""
    request = link_request(virtual_cluster, link, topic, change=ChangeType.REMOVE)
    state = state_of(virtual_clusters=among)
    return asked(DeleteTopicLinkRequest, request, principal, state)
