"""ListOffsets and DescribeLogDirs: what partitions hold, as the brokers that lead them tell it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import ListOffsetsRequest

from kgitops.cluster.kafka.answers import ask_each, result_of
from kgitops.cluster.kafka.read.groups import ActiveGroups, read_active_groups
from kgitops.cluster.kafka.read.rounds import list_topics
from kgitops.cluster.kafka.read.topics import Listed, Listing
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked, TopicUsage, Usage
from kgitops.model.errors import UnreachableError

_EARLIEST, _LATEST = -2, -1
_NO_LEADER = -1
_NO_EPOCH = -1
_READ_UNCOMMITTED = 0  # then the latest offset is the high watermark
_TELLS_REFUSALS = 3  # before, DescribeLogDirs answers with nothing where it refuses
_PATIENCE_MS = 10_000

ByPartition = dict[tuple[str, int], int]


@dataclass(slots=True)
class Told:
    """What is known of each (topic, partition), and why no more is."""

    starts: ByPartition = field(default_factory=dict)
    ends: ByPartition = field(default_factory=dict)
    sizes: ByPartition = field(default_factory=dict)
    not_checked: dict[str, NotChecked] = field(default_factory=dict)

    def lacks(self, what: str, why: object) -> None:
        """Some of it was not told, and why; once for all partitions that lack the same."""
        self.not_checked.setdefault(
            what,
            NotChecked(
                problem=f"{what} could not be read everywhere, so it is not shown: {why}",
                advice="see that the principal may Describe the topics and the cluster and that "
                "every broker runs, and plan again to see it",
            ),
        )


def read_partitions(wire: Wire, listing: Listing, *, offsets_only: bool) -> Told:
    """Two requests to each leader for offsets, and one for sizes."""
    told = Told()
    led: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
    for name, topic in listing.topics.items():
        for partition, leader in enumerate(topic.leaders):
            led[leader].setdefault(name, []).append(partition)
    if led.pop(_NO_LEADER, None):
        told.lacks("what partitions without a leader hold", "nobody leads them now")

    def ask(leader: int) -> list[Message]:
        try:
            requests = _requests(led[leader], offsets_only=offsets_only)
            return wire.send_all(requests, _itself, to=leader, timeout_ms=_PATIENCE_MS)
        except UnreachableError as error:
            told.lacks(f"what broker {leader} holds", error)
            return []

    for answer in ask_each(sorted(led), ask):
        _take(told, answer)
    return told


def _itself(answer: Message) -> Message:
    return answer


def _requests(partitions: Mapping[str, Sequence[int]], *, offsets_only: bool) -> Iterator[Message]:
    # Kafka refuses a partition that is twice in one request, so each end needs its own.
    yield _offsets(partitions, _EARLIEST)
    yield _offsets(partitions, _LATEST)
    if not offsets_only:
        topic = DescribeLogDirsRequest.DescribableLogDirTopic
        yield DescribeLogDirsRequest(
            topics=[topic(topic=name, partitions=ids) for name, ids in partitions.items()],
            min_version=_TELLS_REFUSALS,
        )


def _offsets(partitions: Mapping[str, Sequence[int]], which: int) -> Message:
    topic = ListOffsetsRequest.ListOffsetsTopic
    return ListOffsetsRequest(
        isolation_level=_READ_UNCOMMITTED,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.ListOffsetsPartition(
                        partition_index=partition, current_leader_epoch=_NO_EPOCH, timestamp=which
                    )
                    for partition in ids
                ],
            )
            for name, ids in partitions.items()
        ],
    )


def _take(told: Told, answers: Sequence[Message]) -> None:
    for offsets, answer in zip((told.starts, told.ends), answers, strict=False):
        for topic in answer.topics:
            for row in topic.partitions:
                if row.error_code:
                    told.lacks("how many records the topics hold", result_of(row.error_code, None))
                else:
                    offsets[topic.name, row.partition_index] = row.offset
    for answer in answers[2:]:
        refusals = [answer.error_code, *(disk.error_code for disk in answer.results)]
        for code in filter(None, refusals):
            told.lacks("how many bytes the topics hold", result_of(code, None))
        for disk in answer.results:
            for topic in disk.topics:
                for row in topic.partitions:
                    if not row.is_future_key:  # a copy on its way to another disk
                        told.sizes[topic.name, row.partition_index] = row.partition_size


def read_usage(wire: Wire, names: frozenset[str], *, offsets_only: bool) -> Usage:
    """What these topics hold; what is not told is None, and it is said why.

    At most three requests to each broker that leads one of their partitions, one to each broker for
    its groups, and one to it for each kind of group that is active there. ``offsets_only`` leaves
    out all but two to each leader.

    Raises:
        UnreachableError: it can't even be found out who leads them.
    """
    listing = list_topics(wire, sorted(names))
    if not listing.topics:
        return Usage()
    if offsets_only:
        told, groups = read_partitions(wire, listing, offsets_only=True), ActiveGroups()
    else:
        with ThreadPoolExecutor(max_workers=1) as beside:
            readers = beside.submit(read_active_groups, wire, listing.brokers, listing.topics)
            told = read_partitions(wire, listing, offsets_only=False)
            groups = readers.result()
    return Usage(
        topics={name: _usage(name, topic, told, groups) for name, topic in listing.topics.items()},
        not_checked=(*told.not_checked.values(), *groups.not_checked),
    )


def _usage(name: str, topic: Listed, told: Told, groups: ActiveGroups) -> TopicUsage:
    def each(known: ByPartition) -> tuple[int | None, ...]:
        return tuple(known.get((name, partition)) for partition in range(len(topic.assignment)))

    return TopicUsage(
        log_start_offsets=each(told.starts),
        high_watermarks=each(told.ends),
        size_bytes=each(told.sizes),
        active_groups=None if groups.by_topic is None else groups.by_topic[name],
    )
