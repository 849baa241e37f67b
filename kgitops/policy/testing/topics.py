"""Builders of topics, and of the requests for them and for their records."""

from collections.abc import Mapping, Sequence

from kgitops.model.cluster_state import Broker
from kgitops.model.placement import place, reassign
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.topics import Assignment, RequestedTopicState, TopicState
from kgitops.model.resources.virtual_clusters import (
    LocalName,
    default_link_name,
    generated_topic_name,
)
from kgitops.policy.api.requests import (
    ANONYMOUS,
    AlterTopicRequest,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
    Principal,
)
from kgitops.policy.state.simulated import overlaid, read_only

Assignments = Mapping[int, Sequence[int]]
"""Partition id, from 0 on, to the ids of the brokers that hold it."""


def assignment_of(
    name: str, partitions: int, replication_factor: int, assignments: Assignments | None
) -> Assignment:
    """The replicas that ``assignments`` give; without them they are placed evenly."""
    if assignments is not None:
        return tuple(tuple(assignments[partition]) for partition in sorted(assignments))
    return place(
        brokers_for((), replication_factor),
        partitions=partitions,
        replication_factor=replication_factor,
        seed=name,
    )


def brokers_for(assignment: Assignment, replication_factor: int) -> tuple[Broker, ...]:
    """Brokers that hold ``assignment`` and can hold so many replicas, three at least."""
    used = {broker for replicas in assignment for broker in replicas}
    return numbered(max(3, replication_factor, *used))


def numbered(count: int) -> tuple[Broker, ...]:
    """So many brokers, with ids from 1 on."""
    return tuple(Broker(id=number) for number in range(1, count + 1))


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
        assignment=assignment_of(name, partitions, replication_factor, assignments),
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
    principal: str = str(ANONYMOUS),
) -> CreateTopicRequest:
    """A topic is asked for; without ``assignments`` they count as generated (P201-23).

    With ``virtual_cluster`` it is made there, and ``name`` is its name there (VC-056).
    """
    physical_name = name if virtual_cluster is None else generated_topic_name(NEW_UUID, name)
    requested = RequestedTopicState(
        name=physical_name,
        topic_id=None,
        assignment=assignment_of(name, partitions, replication_factor, assignments),
        configs=dict(configs or {}),
        requested_configs=dict(configs or {}),
        generated_replica_assignments=assignments is None,
    )
    return CreateTopicRequest(
        topic=physical_name,
        principal=Principal.parse(principal),
        local=_local(virtual_cluster, physical_name),
        requested_state=read_only(requested),
    )


def alter_topic(
    before: TopicState,
    *,
    configs: Mapping[str, str | None] | None = None,
    partitions: int | None = None,
    replication_factor: int | None = None,
    assignments: Assignments | None = None,
    virtual_cluster: str | None = None,
    principal: str = str(ANONYMOUS),
) -> AlterTopicRequest:
    """A change of ``before``; None as the value of a config removes the key.

    With ``virtual_cluster`` the topic was made there: its name begins with a uuid.

    Raises:
        PlacementError: fewer partitions or a replication factor that no topic can have.
    """
    requested = configs or {}
    after = before.assignment
    if replication_factor is not None:
        after = reassign(
            brokers_for(after, replication_factor), after, replication_factor=replication_factor
        )
    if partitions is not None:
        factor = len(after[0])
        grown = place(
            brokers_for(after, factor),
            partitions=partitions,
            replication_factor=factor,
            existing=after,
            seed=before.name,
        )
        after = (*after, *grown)
    generated = after != before.assignment
    if assignments is not None:
        after = assignment_of(before.name, 1, 1, assignments)
    state = RequestedTopicState(
        name=before.name,
        topic_id=before.topic_id,
        assignment=after,
        configs=overlaid(before.configs, requested),
        marked_for_deletion=before.marked_for_deletion,
        requested_configs=dict(requested),
        generated_replica_assignments=generated,
    )
    return AlterTopicRequest(
        topic=before.name,
        principal=Principal.parse(principal),
        local=_local(virtual_cluster, before.name),
        requested_state=read_only(state),
    )


def delete_topic(
    name: str, *, virtual_cluster: str | None = None, principal: str = str(ANONYMOUS)
) -> DeleteTopicRequest:
    """A topic is to be deleted, by its physical name."""
    return DeleteTopicRequest(
        topic=name, principal=Principal.parse(principal), local=_local(virtual_cluster, name)
    )


def delete_records(
    name: str,
    offsets: Mapping[int, int],
    *,
    virtual_cluster: str | None = None,
    principal: str = str(ANONYMOUS),
) -> DeleteRecordsRequest:
    """Records are to be deleted; partition id to the first offset that is kept."""
    return DeleteRecordsRequest(
        topic=name,
        principal=Principal.parse(principal),
        local=_local(virtual_cluster, name),
        deleted_message_offsets=dict(offsets),
    )


def _local(virtual_cluster: str | None, topic: str) -> LocalName | None:
    if virtual_cluster is None:
        return None
    new = topic.removeprefix(f"{NEW_UUID}.")
    return LocalName(virtual_cluster, default_link_name(new))
