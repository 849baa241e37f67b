"""Builders of topics, and of the requests for them and for their records."""

from collections.abc import Mapping, Sequence

from kgitops.model import requests as req
from kgitops.model.cluster_state import Broker
from kgitops.model.placement import place, reassign
from kgitops.model.requests import NEW_UUID
from kgitops.model.resources.topics import Assignment, TopicState
from kgitops.model.resources.virtual_clusters import (
    LocalName,
    default_link_name,
    generated_topic_name,
)
from kgitops.policy.api.requests import (
    AlterTopicRequest,
    CreateTopicRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
)
from kgitops.policy.building import grown, numbered, requested_topic
from kgitops.policy.testing.verdicts import NOBODY, asked

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
    principal: str = NOBODY,
) -> CreateTopicRequest:
    """A topic is asked for; without ``assignments`` they count as generated (P201-23).

    With ``virtual_cluster`` it is made there, and ``name`` is its name there (VC-056).
    """
    physical_name = name if virtual_cluster is None else generated_topic_name(NEW_UUID, name)
    placed = assignment_of(name, partitions, replication_factor, assignments)
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
            brokers_for(after, replication_factor), after, replication_factor=replication_factor
        )
    if partitions is not None:
        after = grown(before.name, after, partitions, brokers_for(after, len(after[0])))
    generated = after != before.assignment
    if assignments is not None:
        after = assignment_of(before.name, 1, 1, assignments)
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
