"""Transactions: of AddPartitionsToTxn up to version 3, EndTxn and its kin up to version 4."""

from kgitops.cluster.embedded.client.groups.groups import CoordinatorType
from kgitops.cluster.embedded.client.transactions import ProducerId
from kgitops.cluster.embedded.image.image import TransactionImage
from kgitops.cluster.embedded.image.records import OffsetDetails
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.groups.groups import coordinated
from kgitops.serve.call import ApiCall
from kgitops.serve.groups.consumers.patterns import matching
from kgitops.serve.patterns import InvalidPatternError
from kgitops.wire import messages
from kgitops.wire.messages import Message

_EMPTY, _ONGOING = "Empty", "Ongoing"
_COMMITTED, _ABORTED = "CompleteCommit", "CompleteAbort"
_STATES = frozenset(
    {
        _EMPTY,
        _ONGOING,
        _COMMITTED,
        _ABORTED,
        "PrepareCommit",
        "PrepareAbort",
        "PrepareEpochFence",
        "Dead",
    }
)
_WITH_FENCED = 2
_OFFSETS_WITH_FENCED = 5


def refused_here(call: ApiCall, transactional_id: str) -> RequestResult | None:
    """The error of who may not use the transactional id, or has come to another broker."""
    _, error = coordinated(call, transactional_id, Operation.WRITE, CoordinatorType.TRANSACTION)
    return RequestResult(code=error) if error else None


def add_partitions_to_txn(call: ApiCall, request: Message) -> Message:
    """Add partitions to a transaction, all of them or none."""
    partitions = [
        (topic.name, partition)
        for topic in request.v3_and_below_topics
        for partition in topic.partitions
    ]
    producer = ProducerId(
        producer_id=request.v3_and_below_producer_id, epoch=request.v3_and_below_producer_epoch
    )
    name = request.v3_and_below_transactional_id
    refused = refused_here(call, name)
    results = (
        dict.fromkeys(partitions, refused)
        if refused
        else call.admin.add_partitions_to_txn(name, producer, partitions)
    )
    response = messages.AddPartitionsToTxnResponse
    return response(
        results_by_topic_v3_and_below=[
            response.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    response.AddPartitionsToTxnPartitionResult(
                        partition_index=partition,
                        partition_error_code=_code(call, results[topic.name, partition]),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def add_offsets_to_txn(call: ApiCall, request: Message) -> Message:
    """Add the offsets of a group to a transaction."""
    name = request.transactional_id
    result = refused_here(call, name) or call.admin.add_offsets_to_txn(
        name, _producer(request), request.group_id
    )
    return messages.AddOffsetsToTxnResponse(error_code=_code(call, result))


def txn_offset_commit(call: ApiCall, request: Message) -> Message:
    """Commit offsets with a transaction, if the consumer is still in its group (KIP-447)."""
    rows = {
        (topic.name, partition.partition_index): partition
        for topic in request.topics
        for partition in topic.partitions
    }
    error = call.admin.transaction_to_write(request.transactional_id).result.code
    if not error:
        physical, error = coordinated(call, request.group_id, Operation.READ)
    error = error or call.cluster.groups.check_commit(
        physical,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        transactional=True,
    )
    if error:
        results = dict.fromkeys(rows, RequestResult(code=error))
    else:
        results = call.admin.txn_offset_commit(
            request.transactional_id,
            _producer(request),
            request.group_id,
            {key: row.committed_offset for key, row in rows.items()},
            {
                key: OffsetDetails(
                    leader_epoch=row.committed_leader_epoch, metadata=row.committed_metadata or ""
                )
                for key, row in rows.items()
            },
        )
    response = messages.TxnOffsetCommitResponse
    return response(
        topics=[
            response.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    response.TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=_code(
                            call,
                            results[topic.name, partition.partition_index],
                            _OFFSETS_WITH_FENCED,
                        ),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def end_txn(call: ApiCall, request: Message) -> Message:
    """Commit or abort a transaction."""
    name = request.transactional_id
    result = refused_here(call, name) or call.admin.end_txn(
        name, _producer(request), committed=request.committed
    )
    call.cluster.data.refresh_open()
    return messages.EndTxnResponse(error_code=_code(call, result))


def describe_transactions(call: ApiCall, request: Message) -> Message:
    """The states of transactional ids (KIP-664)."""
    response = messages.DescribeTransactionsResponse
    described = call.admin.describe_transactions(request.transactional_ids)
    rows = []
    found = call.admin.find_coordinator(list(described), CoordinatorType.TRANSACTION, None)
    for name, one in described.items():
        row = response.TransactionState(transactional_id=name, error_code=one.result.code)
        rows.append(row)
        held = one.transaction
        # Whoever may not ask is told nothing else.
        may_ask = one.result.code in (ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        if may_ask and not name:
            row.error_code = ErrorCode.INVALID_REQUEST
        elif may_ask and found[name].node_id != call.node.id:
            row.error_code = ErrorCode.NOT_COORDINATOR
        elif held is not None:
            by_topic: dict[str, list[int]] = {}
            for topic, partition in one.partitions:
                by_topic.setdefault(topic, []).append(partition)
            row.transaction_state = _state(held)
            row.transaction_timeout_ms = held.contents.timeout_ms
            row.transaction_start_time_ms = held.contents.started_ms if held.open else -1
            row.producer_id, row.producer_epoch = held.producer_id, held.epoch
            row.topics = [
                response.TopicData(topic=topic, partitions=partitions)
                for topic, partitions in by_topic.items()
            ]
    return response(transaction_states=rows)


def list_transactions(call: ApiCall, request: Message) -> Message:
    """The transactional ids of this broker that the client may see, if its filters let them."""
    response = messages.ListTransactionsResponse
    now_ms = call.cluster.controller.clock_and_ids.now_ms()
    held_by_id = call.admin.list_transactions()
    found = call.admin.find_coordinator(list(held_by_id), CoordinatorType.TRANSACTION, None)
    names = frozenset(name for name in held_by_id if found[name].node_id == call.node.id)
    if request.transactional_id_pattern:
        try:
            names = matching(request.transactional_id_pattern, names)
        except InvalidPatternError:
            return response(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    states, producers = set(request.state_filters), set(request.producer_id_filters)
    rows = [
        response.TransactionState(
            transactional_id=name, producer_id=held.producer_id, transaction_state=_state(held)
        )
        for name, held in held_by_id.items()
        if name in names
        and (not states or _state(held) in states)
        and (not producers or held.producer_id in producers)
        and (
            request.duration_filter < 0
            or (held.open and now_ms - held.contents.started_ms > request.duration_filter)
        )
    ]
    return response(transaction_states=rows, unknown_state_filters=sorted(states - _STATES))


def _producer(request: Message) -> ProducerId:
    return ProducerId(producer_id=request.producer_id, epoch=request.producer_epoch)


def _code(call: ApiCall, result: RequestResult, with_fenced: int = _WITH_FENCED) -> ErrorCode:
    """The code in this version: PRODUCER_FENCED is newer than the first ones."""
    if result.code is ErrorCode.PRODUCER_FENCED and call.version < with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return result.code


def _state(held: TransactionImage) -> str:
    if held.open:
        return _ONGOING
    if held.contents.committed is None:
        return _EMPTY
    return _COMMITTED if held.contents.committed else _ABORTED
