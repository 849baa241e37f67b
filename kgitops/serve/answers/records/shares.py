"""ShareFetch and ShareAcknowledge (KIP-932): records of share sessions, and what became of them."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from kgitops.cluster.embedded.client.partitions import TopicAccess
from kgitops.cluster.embedded.image.image import Image
from kgitops.cluster.embedded.store.batches import PartitionKey
from kgitops.model.resources.acls import Operation
from kgitops.model.results import ErrorCode
from kgitops.serve.answers.groups.shares import ShareSettings, share_settings
from kgitops.serve.answers.records.fetch import most_bytes
from kgitops.serve.answers.records.places import (
    PartitionError,
    find_place,
    leader_endpoints,
    looked_up,
    set_current_leader,
    topics_by_id,
)
from kgitops.serve.answers.values import topic_id_bytes, topic_id_text
from kgitops.serve.call import ApiCall
from kgitops.serve.data.data_plane import Place
from kgitops.serve.data.partition_log import BatchRange, LogView
from kgitops.serve.data.timestamps import find_timestamp
from kgitops.serve.groups.share_groups import (
    LAST_REQUEST,
    NEW_SESSION,
    SessionKey,
    ShareError,
    ShareSession,
    check_member_id,
)
from kgitops.serve.groups.share_partition import (
    AckBatch,
    AcknowledgeError,
    AckType,
    BatchBounds,
    InFlightRecords,
    SharePartition,
    acknowledge,
    acquire,
    archive,
    move_start,
    without,
)
from kgitops.wire import messages
from kgitops.wire.batches import read_header
from kgitops.wire.messages import Message

_RECORD_LIMIT = 1
"""The mode in which a member gets no more records than it asks for (KIP-1206)."""
_FIRST_WITH_LEADERS = 0
_Errors = dict[PartitionKey, PartitionError | None]
"""The outcome of each partition's acknowledgements; None where they were taken."""


async def share_fetch(call: ApiCall, request: Message) -> Message:
    """Take acknowledgements, then wait for records and acquire them for the member."""
    response = messages.ShareFetchResponse
    wanted = [_key(topic.topic_id, row) for topic in request.topics for row in topic.partitions]
    batches = _batches(request)
    try:
        physical, member = _member(call, request)
        _check_renewal(request)
        key = call.node.id, physical, member
        settings = share_settings(call, physical)
        session = _session_of_fetch(call, key, settings, request, wanted, batches)
    except ShareError as error:
        return response(error_code=error.code, error_message=error.message)
    work = _ShareRequest(call, key, settings)
    await work.find_topics({*batches, *session.partitions})
    results = work.acknowledge(batches, renews=request.is_renew_ack)
    rows: dict[PartitionKey, Message] = {}
    if request.share_session_epoch == LAST_REQUEST:
        call.cluster.groups.shares.close_session(key, settings.limits, session)
        call.on_close.pop(key, None)
    elif not request.is_renew_ack:
        rows = await work.fetch(request, session)
    for partition, problem in results.items():
        row: Message = rows.setdefault(partition, _row(partition))
        if problem is not None:
            row.acknowledge_error_code = problem.code
            row.acknowledge_error_message = problem.message
    return response(
        acquisition_lock_timeout_ms=settings.limits.lock_ms,
        responses=_topics(response.ShareFetchableTopicResponse, rows),
        node_endpoints=work.endpoints(response.NodeEndpoint),
    )


async def share_acknowledge(call: ApiCall, request: Message) -> Message:
    """Take acknowledgements; one result for each partition."""
    response = messages.ShareAcknowledgeResponse
    shares = call.cluster.groups.shares
    try:
        physical, member = _member(call, request)
        key = call.node.id, physical, member
        session = shares.session(key, request.share_session_epoch)
    except ShareError as error:
        return response(error_code=error.code, error_message=error.message)
    session.advance()
    settings = share_settings(call, physical)
    work = _ShareRequest(call, key, settings)
    batches = _batches(request)
    await work.find_topics(batches)
    results = work.acknowledge(batches, renews=request.is_renew_ack)
    if request.share_session_epoch == LAST_REQUEST:
        shares.close_session(key, settings.limits, session)
        call.on_close.pop(key, None)
    rows = {}
    for partition, problem in results.items():
        rows[partition] = row = response.PartitionData(partition_index=partition[1])
        if problem is not None:
            row.error_code, row.error_message = problem.code, problem.message
            set_current_leader(call, row, problem, _FIRST_WITH_LEADERS)
    return response(
        acquisition_lock_timeout_ms=settings.limits.lock_ms,
        responses=_topics(response.ShareAcknowledgeTopicResponse, rows),
        node_endpoints=work.endpoints(response.NodeEndpoint),
    )


class _Read(Struct, kw_only=True):
    """A partition of a session that can be read here, and its row of the response."""

    place: Place
    row: Message
    view: LogView | None = None
    found: BatchRange | None = None
    """The batches from the next offset on, if a record may be acquired."""
    acquired: Sequence[InFlightRecords] = ()
    range: BatchRange | None = None
    """The batches of the acquired records."""


class _ShareRequest:
    """One request of a member of a share group at a broker."""

    def __init__(self, call: ApiCall, key: SessionKey, settings: ShareSettings) -> None:
        self._call = call
        self._key = key
        self._settings = settings
        self._shares = call.cluster.groups.shares
        self._data = call.cluster.data
        self._image: Image = call.image()
        self._topics: Mapping[str, TopicAccess] = {}
        self._leaders: list[int | None] = []

    async def find_topics(self, keys: Collection[PartitionKey]) -> None:
        """Look up the topics of these partitions."""
        ids = [topic_id_bytes(topic_id) for topic_id in {topic_id for topic_id, _ in keys}]
        by_id = await looked_up(ids, lambda: topics_by_id(self._call, Operation.READ, ids))
        self._topics = {topic_id_text(topic_id): access for topic_id, access in by_id.items()}

    def acknowledge(
        self, batches: Mapping[PartitionKey, Sequence[AckBatch]], *, renews: bool
    ) -> _Errors:
        """Take a member's acknowledgements, all those of a partition or none."""
        results: _Errors = {}
        for key, of_partition in batches.items():
            try:
                _check_batches(of_partition, AckType.RENEW if renews else AckType.REJECT)
                self._acknowledge(key, of_partition)
                results[key] = None
            except PartitionError as error:
                self._leaders.append(error.leader)
                results[key] = error
        return results

    async def fetch(self, request: Message, session: ShareSession) -> dict[PartitionKey, Message]:
        """Wait for records and acquire them; the rows of partitions that have news."""
        rows = {key: _row(key) for key in session.partitions}
        reads = await self._started(rows)
        if request.max_records <= 0:
            return {}
        if reads:
            # No partition is always the first.
            turn = request.share_session_epoch % len(reads)
            reads = [*reads[turn:], *reads[:turn]]
        if await self._waited(request, session, reads):
            self._acquire(request, reads)
            await asyncio.get_running_loop().run_in_executor(None, self._read, reads)
            self._leave_out_aborted(reads)
        news = {}
        for key, row in rows.items():
            if row.error_code or row.acquired_records or session.partitions.get(key):
                news[key] = row
            if key in session.partitions:
                session.partitions[key] = bool(row.error_code)
        return news

    def endpoints(self, kind: type[Message]) -> list[Message]:
        """The addresses of the leaders that the rows tell."""
        return leader_endpoints(self._call, self._image, kind, self._leaders)

    def _found(self, key: PartitionKey) -> Place:
        return find_place(self._call, self._image, self._topics[key[0]], key[1])

    def _place(self, key: PartitionKey) -> Place:
        """The partition, if the member may read it at this broker.

        Raises:
            PartitionError: it may not, or the group has nothing of it.
        """
        place = self._found(key)
        group = self._shares.group(self._key[1])
        if group is None or (topic_id_bytes(key[0]), key[1]) not in group.known:
            raise PartitionError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return place

    def _acknowledge(self, key: PartitionKey, batches: Sequence[AckBatch]) -> None:
        self._found(key)
        if not batches:
            return
        _, group, member = self._key
        partition = self._shares.partitions(group).get(key)
        if partition is None:
            raise PartitionError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        limits = self._settings.limits
        try:
            changed = acknowledge(partition, member, batches, limits, self._shares.now_ms())
        except AcknowledgeError as error:
            raise PartitionError(error.code, error.message) from error
        self._shares.keep_partition(group, key, changed, limits)

    async def _started(self, rows: Mapping[PartitionKey, Message]) -> list[_Read]:
        """The partitions that can be read here, each with the offset that its records begin at."""
        reads = []
        for key, row in rows.items():
            try:
                reads.append(_Read(place=self._place(key), row=row))
            except PartitionError as error:
                self._fail(row, error)
        new = [one for one in reads if one.place.key not in self._shares.partitions(self._key[1])]
        views = await self._data.views([one.place for one in new])
        for one, view in zip(new, views, strict=True):
            if view is not None:
                await self._start(one.place.key, view)
        return reads

    async def _start(self, key: PartitionKey, view: LogView) -> None:
        """Begin to read a partition where the group's config says."""
        start = view.start if self._settings.reset == "earliest" else view.end
        age_ms = self._settings.reset_ms
        if age_ms is not None:
            since_ms = self._call.cluster.controller.clock_and_ids.now_ms() - age_ms
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(
                None, find_timestamp, self._data, key, view, since_ms
            )
            start = found.offset if found is not None else view.end
        group = self._key[1]
        if key not in self._shares.partitions(group):
            made = SharePartition(start=start)
            self._shares.keep_partition(group, key, made, self._settings.limits)

    async def _waited(
        self, request: Message, session: ShareSession, reads: Sequence[_Read]
    ) -> bool:
        """Wait until there is enough to acquire, or no time left; False if there is nothing."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.max_wait_ms / 1000
        keys = [one.place.key for one in reads]
        most = min(request.max_bytes, most_bytes(self._call))
        while reads:
            views = await self._data.views([one.place for one in reads])
            if not self._shares.has_session(self._key, session):
                return False
            size = 0
            for one, view in zip(reads, views, strict=True):
                size += self._look(one, view, most - size, first=not size)
            left = deadline - loop.time()
            if size >= max(request.min_bytes, 1) or left <= 0:
                return size > 0
            await self._data.waiting.wait(keys, left)
        return False

    def _look(self, one: _Read, view: LogView | None, most: int, *, first: bool) -> int:
        """Find the batches that records of a partition may be acquired of: their bytes."""
        one.view, one.found = view, None
        partition = self._shares.partitions(self._key[1]).get(one.place.key)
        if view is None or partition is None:  # the topic or the group has been deleted meanwhile
            self._fail(one.row, PartitionError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            return 0
        limits = self._settings.limits
        moved = move_start(partition, view.start)
        if moved != partition:
            self._shares.keep_partition(self._key[1], one.place.key, moved, limits)
        if not moved.may_acquire(limits):
            return 0
        committed = self._settings.committed
        one.found = view.find(moved.next_offset, most=most, committed=committed, at_least_one=first)
        return one.found.bytes

    def _acquire(self, request: Message, reads: Iterable[_Read]) -> None:
        most = request.max_records
        _, group, member = self._key
        limits = self._settings.limits
        for one in reads:
            if one.found is None or one.view is None or not one.found.bytes or most <= 0:
                continue
            partition = self._shares.partitions(group)[one.place.key]
            # No more than these can be in flight.
            last = partition.next_offset + limits.record_locks + most
            bounds = one.view.bounds(one.found, last)
            changed, one.acquired = acquire(
                partition,
                member,
                [BatchBounds(begin, end) for begin, end, _ in bounds],
                most,
                limits,
                self._shares.now_ms(),
                whole_batches=request.share_acquire_mode != _RECORD_LIMIT,
            )
            self._shares.keep_partition(group, one.place.key, changed, limits)
            if one.acquired:
                first, last = one.acquired[0].first, one.acquired[-1].last
                read = [row for row in bounds if row[1] >= first and row[0] <= last]
                one.range = BatchRange(read[0][0], read[-1][0], sum(size for *_, size in read))
                most -= sum(run.count for run in one.acquired)

    def _read(self, reads: Iterable[_Read]) -> None:
        for one in reads:
            if one.range is not None:
                one.row.records = self._data.read(one.place.key, one.range)

    def _leave_out_aborted(self, reads: Iterable[_Read]) -> None:
        """Fill the rows with what was acquired, but for records of aborted transactions."""
        _, group, member = self._key
        row = messages.ShareFetchResponse.AcquiredRecords
        for one in reads:
            if self._settings.committed:
                for first, last in _aborted(one):
                    one.acquired = without(one.acquired, first, last)
                    partition = self._shares.partitions(group).get(one.place.key)
                    if partition is not None:
                        left = archive(partition, member, first, last)
                        self._shares.keep_partition(
                            group, one.place.key, left, self._settings.limits
                        )
            one.row.acquired_records = [
                row(first_offset=run.first, last_offset=run.last, delivery_count=run.deliveries)
                for run in one.acquired
            ]
            if not one.acquired:
                one.row.records = b""

    def _fail(self, row: Message, error: PartitionError) -> None:
        row.error_code, row.error_message = error.code, error.message
        self._leaders.append(error.leader)
        set_current_leader(self._call, row, error, _FIRST_WITH_LEADERS)


def _member(call: ApiCall, request: Message) -> tuple[str, str]:
    """The group's physical id, and the member.

    Raises:
        ShareError: the client may not read in the group (30), or the member's id is none (42).
    """
    group = request.group_id or ""
    found = call.admin.find_coordinator([group], operation=Operation.READ)[group]
    if not found.result.ok:
        raise ShareError(found.result.code)
    return found.physical, check_member_id(request.member_id)


def _check_renewal(request: Message) -> None:
    """Refuse a request that renews locks and fetches, which would take its time (KIP-1222)."""
    fetches = request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    if request.is_renew_ack and fetches:
        raise ShareError(ErrorCode.INVALID_REQUEST)


def _session_of_fetch(
    call: ApiCall,
    key: SessionKey,
    settings: ShareSettings,
    request: Message,
    wanted: Sequence[PartitionKey],
    batches: Mapping[PartitionKey, Sequence[AckBatch]],
) -> ShareSession:
    """The session of a ShareFetch, with the partitions that it adds and forgets."""
    shares = call.cluster.groups.shares
    epoch = request.share_session_epoch
    if epoch == NEW_SESSION:
        if batches:
            raise ShareError(ErrorCode.INVALID_REQUEST)
        session = shares.open_session(key, call.cluster.groups.settings.share_max_sessions)
        call.on_close[key] = lambda: shares.close_session(key, settings.limits, session)
        session.update(wanted, ())
        return session
    session = shares.session(key, epoch)
    if epoch != LAST_REQUEST:
        forgotten = [
            (topic_id_text(topic.topic_id), partition)
            for topic in request.forgotten_topics_data
            for partition in topic.partitions
        ]
        session.update(wanted, forgotten)
        session.advance()
    return session


def _key(topic_id: bytes, row: Message) -> PartitionKey:
    return topic_id_text(topic_id), row.partition_index


def _batches(request: Message) -> dict[PartitionKey, list[AckBatch]]:
    """The acknowledgements by partition: of all that a request names, if it has any."""
    batches: dict[PartitionKey, list[AckBatch]] = {}
    for topic in request.topics:
        for row in topic.partitions:
            batches.setdefault(_key(topic.topic_id, row), []).extend(
                AckBatch(batch.first_offset, batch.last_offset, batch.acknowledge_types)
                for batch in row.acknowledgement_batches
            )
    return batches if any(batches.values()) else {}


def _check_batches(batches: Sequence[AckBatch], most: AckType) -> None:
    """Refuse acknowledgements that contradict each other, or of a type that is not allowed.

    Raises:
        PartitionError: one is such (42).
    """
    before = -1
    for batch in batches:
        count = len(batch.types)
        fits = count == 1 or count == batch.last - batch.first + 1
        known = all(AckType.GAP <= kind <= most for kind in batch.types)
        if not (before <= batch.first <= batch.last and fits and known):
            raise PartitionError(ErrorCode.INVALID_REQUEST)
        before = batch.last


def _row(key: PartitionKey) -> Message:
    return messages.ShareFetchResponse.PartitionData(partition_index=key[1], records=b"")


def _topics(kind: type[Message], rows: Mapping[PartitionKey, Message]) -> list[Message]:
    by_topic: dict[str, list[Message]] = {}
    for (topic_id, _), row in rows.items():
        by_topic.setdefault(topic_id, []).append(row)
    return [
        kind(topic_id=topic_id_bytes(topic_id), partitions=partitions)
        for topic_id, partitions in by_topic.items()
    ]


def _aborted(one: _Read) -> Iterable[tuple[int, int]]:
    """The first and last offsets of batches that belong to aborted transactions."""
    if one.view is None or one.range is None:
        return
    aborted = one.view.aborted_in(one.range.first, one.range)
    data, at = one.row.records, 0
    while aborted and at < len(data):
        header = read_header(data, at)
        at += header.size
        if (
            header.transactional
            and not header.control
            and any(
                transaction.producer_id == header.producer_id
                and transaction.first_offset <= header.base_offset <= transaction.last_offset
                for transaction in aborted
            )
        ):
            yield header.base_offset, header.last_offset
