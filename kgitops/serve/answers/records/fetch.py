"""Fetch: waits until there are enough bytes, or the client's time is up."""

import asyncio
from collections.abc import Sequence
from itertools import count

from msgspec import Struct

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.records.places import (
    PartitionError,
    find_place,
    leader_endpoints,
    looked_up,
    set_current_leader,
    topics_by_id,
    yield_to_event_loop,
)
from kgitops.serve.call import ApiCall
from kgitops.serve.data.data_plane import Place
from kgitops.serve.data.partition_log import NOTHING, BatchRange, LogView
from kgitops.wire import messages
from kgitops.wire.messages import Message

_READ_COMMITTED = 1
_WITH_TOPIC_IDS = 13
_WITH_LEADERS = 12
_WITH_ENDPOINTS = 16
_MAX_BYTES = "fetch.max.bytes"
_MAX_BYTES_DEFAULT = 55 * 1024 * 1024


class _Fetched(Struct, kw_only=True):
    """A partition of the request: where it is, and its row of the answer."""

    wanted: Message
    row: Message
    place: Place
    view: LogView | None = None
    found: BatchRange = NOTHING


async def fetch(call: ApiCall, request: Message) -> Message:
    """The batches from the wanted offsets on.

    There are no fetch sessions (KIP-227): a client that asks for one is told of none.
    """
    response = messages.FetchResponse
    if request.session_id and request.session_epoch > 0:
        return response(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    fetching = _Fetching(call, request)
    accesses = await looked_up(request.topics, lambda: _access(call, request.topics))
    rows, steps = [], count()
    for topic, access in zip(request.topics, accesses, strict=True):
        await yield_to_event_loop(next(steps))
        partitions = []
        # As in Kafka, a partition that is asked for several times is so once.
        for wanted in {row.partition: row for row in topic.partitions}.values():
            await yield_to_event_loop(next(steps))
            partitions.append(fetching.row(access, wanted))
        rows.append(
            response.FetchableTopicResponse(
                topic=topic.topic, topic_id=topic.topic_id, partitions=partitions
            )
        )
    answer = response(responses=rows)
    await fetching.wait()
    await fetching.read()
    if call.version >= _WITH_ENDPOINTS:
        answer.node_endpoints = leader_endpoints(
            call, fetching.image, response.NodeEndpoint, fetching.leaders
        )
    return answer


class _Fetching:
    """One request, and the partitions that can be read here."""

    def __init__(self, call: ApiCall, request: Message) -> None:
        self.image = call.image()
        self.leaders: list[int | None] = []
        self._call = call
        self._data = call.cluster.data
        self._request = request
        self._most = min(request.max_bytes, most_bytes(call))
        self._committed = request.isolation_level == _READ_COMMITTED
        self._partitions: list[_Fetched] = []
        self._failed = False

    def row(self, access: TopicAccess, wanted: Message) -> Message:
        """The row of a partition in the answer; ``read`` fills it."""
        row = messages.FetchResponse.PartitionData(
            partition_index=wanted.partition,
            high_watermark=-1,
            aborted_transactions=None,
            records=b"",
        )
        epoch = wanted.current_leader_epoch
        try:
            place = find_place(self._call, self.image, access, wanted.partition, epoch)
        except PartitionError as error:
            self._fail(row, error)
        else:
            self._partitions.append(_Fetched(wanted=wanted, row=row, place=place))
        return row

    async def wait(self) -> None:
        """Wait until there is enough to read, an error, or no time left."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._request.max_wait_ms / 1000
        while True:
            size = await self._look()
            left = deadline - loop.time()
            enough = size >= self._request.min_bytes
            if enough or self._failed or left <= 0 or not self._partitions:
                return
            await self._data.waiting.wait([one.place.key for one in self._partitions], left)

    async def read(self) -> None:
        """Read what was found."""
        if any(one.found.bytes for one in self._partitions):
            await asyncio.get_running_loop().run_in_executor(None, self._read)

    async def _look(self) -> int:
        """Look what there is to read: the bytes of it."""
        views = await self._data.views([one.place for one in self._partitions])
        size = 0
        for step, (one, view) in enumerate(zip(self._partitions, views, strict=True)):
            await yield_to_event_loop(step)
            one.found = NOTHING
            try:
                one.found = self._find(one, view, self._most - size, first=not size)
            except PartitionError as error:
                self._fail(one.row, error)
            size += one.found.bytes
        return size

    def _find(self, one: _Fetched, view: LogView | None, most: int, *, first: bool) -> BatchRange:
        if view is None:  # the topic has been deleted meanwhile
            by_id = self._call.version >= _WITH_TOPIC_IDS
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise PartitionError(code)
        offset, row = one.wanted.fetch_offset, one.row
        if not view.start <= offset <= view.end:
            raise PartitionError(ErrorCode.OFFSET_OUT_OF_RANGE)
        most = min(most, one.wanted.partition_max_bytes)
        found = view.find(offset, most=most, committed=self._committed, at_least_one=first)
        row.high_watermark = view.end
        row.last_stable_offset = view.last_stable
        row.log_start_offset = view.start
        if self._committed:
            row.aborted_transactions = [
                messages.FetchResponse.AbortedTransaction(
                    producer_id=aborted.producer_id, first_offset=aborted.first_offset
                )
                for aborted in view.aborted_in(offset, found)
            ]
        return found

    def _read(self) -> None:
        for one in self._partitions:
            one.row.records = self._data.read(one.place.key, one.found)

    def _fail(self, row: Message, error: PartitionError) -> None:
        self._failed = True
        row.error_code = error.code
        self.leaders.append(error.leader)
        set_current_leader(self._call, row, error, _WITH_LEADERS)


def most_bytes(call: ApiCall) -> int:
    """The most bytes of records in one answer of this broker."""
    configs = call.cluster.controller.options.static_configs_of(call.node.id)
    return int(configs.get(_MAX_BYTES, _MAX_BYTES_DEFAULT))


def _access(call: ApiCall, topics: Sequence[Message]) -> list[TopicAccess]:
    """The topics of the request, in their order."""
    if call.version >= _WITH_TOPIC_IDS:
        by_id = topics_by_id(call, Operation.READ, [topic.topic_id for topic in topics])
        return [by_id[topic.topic_id] for topic in topics]
    by_name = call.admin.authorize_topics(Operation.READ, [topic.topic for topic in topics])
    return [by_name[topic.topic] for topic in topics]
