"""Produce."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.client.transactions import TransactionAccess
from kgitops.cluster.embedded.image.image import Image, in_sync
from kgitops.model.resources.acls import Operation
from kgitops.model.resources.names import INTERNAL_TOPICS
from kgitops.model.results import ErrorCode, RequestResult
from kgitops.serve.answers.records.places import (
    PartitionError,
    find_place,
    leader_endpoints,
    set_current_leader,
    topics_by_id,
)
from kgitops.serve.call import ApiCall
from kgitops.serve.data.batch_checks import (
    BatchError,
    TopicRules,
    check_batch,
    check_header,
    first_batch,
    topic_rules,
)
from kgitops.serve.data.data_plane import AppendedBatch, NewBatch, Place
from kgitops.serve.data.record_checks import RecordChecks
from kgitops.serve.listening.answering import CloseConnectionError
from kgitops.wire import messages
from kgitops.wire.batches import MAGIC
from kgitops.wire.messages import Message

_ALL_IN_SYNC = -1
_ACKS = (_ALL_IN_SYNC, 0, 1)
_WITH_LEADERS = 10
_WITH_TOPIC_IDS = 13
_RecordError = messages.ProduceResponse.BatchIndexAndErrorMessage


class _Produced(Struct, kw_only=True):
    """A partition of the request: its row of the answer, and its batch unless there is an error."""

    row: Message
    new: NewBatch | None = None
    stamped_ms: int = -1
    leader: int | None = None


def produce(call: ApiCall, request: Message) -> Message | None:
    """Append the batches; None to a producer that does not want to know.

    Raises:
        CloseConnectionError: an error is told to such a producer like that.
    """
    producing = _Producing(call, request)
    by_topic = [
        (topic, producing.partitions(access, topic))
        for topic, access in zip(request.topic_data, _access(call, request.topic_data), strict=True)
    ]
    every = [one for _, partitions in by_topic for one in partitions]
    new = [(one, one.new) for one in every if one.new is not None]
    if new:
        outcomes = call.cluster.data.append([batch for _, batch in new])
        for (one, _), outcome in zip(new, outcomes, strict=True):
            _tell(one, outcome)
    if request.acks == 0:
        errors = [one.row.error_code for one in every if one.row.error_code]
        if errors:
            raise CloseConnectionError(
                f"it asked for no answer to Produce, and the error is {ErrorCode(errors[0]).name}"
            )
        return None
    response = messages.ProduceResponse
    answer = response(
        responses=[
            response.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[one.row for one in partitions],
            )
            for topic, partitions in by_topic
        ]
    )
    if call.version >= _WITH_LEADERS:
        answer.node_endpoints = leader_endpoints(
            call, producing.image, response.NodeEndpoint, (one.leader for one in every)
        )
    return answer


class _Producing:
    """One request, and what its batches are checked against."""

    def __init__(self, call: ApiCall, request: Message) -> None:
        self.call = call
        self.image = call.image()
        self._acks = request.acks
        self._records = RecordChecks()
        self._now_ms = call.cluster.controller.clock_and_ids.now_ms()
        self._transaction = TransactionAccess()
        if request.transactional_id is not None:
            self._transaction = call.admin.transaction_to_write(request.transactional_id)
        elif _is_transactional(request):
            refused = RequestResult(code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            self._transaction = TransactionAccess(result=refused)

    def partitions(self, access: TopicAccess, topic: Message) -> list[_Produced]:
        return [self._partition(access, partition) for partition in topic.partition_data]

    def _partition(self, access: TopicAccess, partition: Message) -> _Produced:
        row = messages.ProduceResponse.PartitionProduceResponse(
            index=partition.index, base_offset=-1
        )
        one = _Produced(row=row)
        try:
            self._check(one, access, partition)
        except (PartitionError, BatchError) as error:
            row.error_code = error.code
            row.error_message = error.message
            if isinstance(error, BatchError):
                row.record_errors = [
                    _RecordError(batch_index=index, batch_index_error_message=message)
                    for index, message in error.records.items()
                ]
            else:
                one.leader = error.leader
                set_current_leader(self.call, row, error, _WITH_LEADERS)
        return one

    def _check(self, one: _Produced, access: TopicAccess, partition: Message) -> None:
        if self._acks not in _ACKS:
            raise PartitionError(ErrorCode.INVALID_REQUIRED_ACKS)
        if not self._transaction.result.ok:
            raise PartitionError(self._transaction.result.code)
        header = check_batch(partition.records, self.call.version)
        if access.topic is not None and access.topic.name in INTERNAL_TOPICS:
            raise PartitionError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        place = find_place(self.call, self.image, access, partition.index)
        options = self.call.cluster.controller.options
        rules = topic_rules(self.image, options, place.topic)
        if self._acks == _ALL_IN_SYNC:
            _check_in_sync(self.image, place, rules)
        data = partition.records[: header.size]
        check_header(data, header, rules)
        data = self._records.checked(data, header, rules, self._now_ms)
        if rules.log_append_time:
            one.stamped_ms = self._now_ms
        one.new = NewBatch(
            key=place.key,
            data=data,
            header=header,
            transactional_id=self._transaction.physical,
        )


def _is_transactional(request: Message) -> bool:
    """Return whether a batch belongs to a transaction; what is wrong with others is told later."""
    for topic in request.topic_data:
        for partition in topic.partition_data:
            with suppress(BatchError):
                header = first_batch(partition.records)
                if header and header.magic == MAGIC and header.transactional:
                    return True
    return False


def _access(call: ApiCall, topics: Sequence[Message]) -> list[TopicAccess]:
    """The topics of the request, in their order."""
    if call.version >= _WITH_TOPIC_IDS:
        by_id = topics_by_id(call, Operation.WRITE, [topic.topic_id for topic in topics])
        return [by_id[topic.topic_id] for topic in topics]
    by_name = call.admin.authorize_topics(Operation.WRITE, [topic.name for topic in topics])
    return [by_name[topic.name] for topic in topics]


def _check_in_sync(image: Image, place: Place, rules: TopicRules) -> None:
    brokers = image.brokers.brokers.values()
    replicas = in_sync(brokers, place.topic.assignment[place.partition])
    if len(replicas) < rules.min_insync_replicas:
        raise PartitionError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"The size of the current ISR {len(replicas)} is insufficient to satisfy the "
            f"min.isr requirement of {rules.min_insync_replicas} for partition "
            f"{place.topic.name}-{place.partition}",
        )


def _tell(one: _Produced, outcome: AppendedBatch) -> None:
    row = one.row
    row.error_code = outcome.error
    row.error_message = outcome.message
    row.base_offset = outcome.base_offset
    row.log_start_offset = outcome.start
    if not outcome.error and not outcome.duplicate:
        row.log_append_time_ms = one.stamped_ms
