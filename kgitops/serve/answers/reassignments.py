"""AlterPartitionReassignments, ListPartitionReassignments and ElectLeaders."""

from kgitops.cluster.embedded.refusal import Refusal, missing_right
from kgitops.model.resources.acls import Operation
from kgitops.model.results import OK, ErrorCode, RequestResult
from kgitops.serve.answers.values import message_of
from kgitops.serve.call import ApiCall
from kgitops.wire import messages
from kgitops.wire.messages import Message

_ELECTIONS = {0: False, 1: True}
"""Kinds of elections: if an unclean one is asked for (KIP-460)."""


def alter_partition_reassignments(call: ApiCall, request: Message) -> Message:
    """One result for each partition; without the right to do it one for all of them as well."""
    response = messages.AlterPartitionReassignmentsResponse
    moves = {
        (topic.name, row.partition_index): row.replicas
        for topic in request.topics
        for row in topic.partitions
    }
    results = call.admin.alter_partition_reassignments(
        moves, allow_replication_factor_change=request.allow_replication_factor_change
    )
    whole = OK
    if Operation.ALTER not in call.admin.allowed_cluster_operations():
        whole = missing_right(Operation.ALTER).result
    return response(
        # As Kafka answers: an error does not repeat it, and nothing asked has an empty message.
        allow_replication_factor_change=request.allow_replication_factor_change or not whole.ok,
        error_code=whole.code,
        error_message=message_of(whole) if request.topics or not whole.ok else "",
        responses=[
            response.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _moved(row.partition_index, results[topic.name, row.partition_index])
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def list_partition_reassignments(call: ApiCall, request: Message) -> Message:
    """The partitions that are moving: of these, or of all."""
    response = messages.ListPartitionReassignmentsResponse
    partitions = None
    if request.topics is not None:
        partitions = [
            (topic.name, partition)
            for topic in request.topics
            for partition in topic.partition_indexes
        ]
    try:
        moving = call.admin.list_partition_reassignments(partitions)
    except Refusal as refusal:
        return response(
            error_code=refusal.result.code,
            error_message=refusal.result.message,
            topics=[_not_moving(topic) for topic in request.topics or ()],
        )
    topics: dict[str, list[Message]] = {}
    for (name, partition), move in moving.items():
        topics.setdefault(name, []).append(
            response.OngoingPartitionReassignment(
                partition_index=partition,
                replicas=list(move.replicas),
                adding_replicas=list(move.adding),
                removing_replicas=list(move.removing),
            )
        )
    return response(
        # Null, which the default of a text that may be null is not.
        error_message=None,
        topics=[
            response.OngoingTopicReassignment(name=name, partitions=rows)
            for name, rows in topics.items()
        ],
    )


def elect_leaders(call: ApiCall, request: Message) -> Message:
    """One result for each partition; of all partitions only those whose leader was not elected."""
    unclean = _ELECTIONS.get(request.election_type)
    partitions = None
    if request.topic_partitions is not None:
        partitions = [
            (topic.topic, partition)
            for topic in request.topic_partitions
            for partition in topic.partitions
        ]
    try:
        results = call.admin.elect_leaders(partitions, unclean=unclean is True)
    except Refusal as refusal:
        whole = refusal.result
    else:
        if unclean is not None:
            return _elected(call, request, results, OK)
        message = f"Unknown election type {request.election_type}"
        whole = RequestResult(code=ErrorCode.INVALID_REQUEST, message=message)
    return _elected(call, request, dict.fromkeys(partitions or (), whole), whole)


def _elected(
    call: ApiCall,
    request: Message,
    results: dict[tuple[str, int], RequestResult],
    whole: RequestResult,
) -> Message:
    response = messages.ElectLeadersResponse
    if request.topic_partitions is None:
        asked: dict[str, list[int]] = {}
        for (name, partition), result in results.items():
            of_topic = asked.setdefault(name, [])
            if result.code is not ErrorCode.ELECTION_NOT_NEEDED:
                of_topic.append(partition)
        topics = list(asked.items())
    else:
        topics = [(row.topic, row.partitions) for row in request.topic_partitions]
    return response(
        # Version 0 has no place for it.
        error_code=whole.code if call.version >= 1 else ErrorCode.NONE,
        replica_election_results=[
            response.ReplicaElectionResult(
                topic=name,
                partition_result=[
                    response.PartitionResult(
                        partition_id=partition,
                        error_code=results[name, partition].code,
                        error_message=message_of(results[name, partition]),
                    )
                    for partition in partitions
                ],
            )
            for name, partitions in topics
        ],
    )


def _not_moving(topic: Message) -> Message:
    """A topic of a request that is refused as a whole: Kafka repeats it, without any replicas."""
    response = messages.ListPartitionReassignmentsResponse
    rows = [
        response.OngoingPartitionReassignment(partition_index=partition)
        for partition in topic.partition_indexes
    ]
    return response.OngoingTopicReassignment(name=topic.name, partitions=rows)


def _moved(partition: int, result: RequestResult) -> Message:
    return messages.AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
        partition_index=partition, error_code=result.code, error_message=message_of(result)
    )
