"""Usage of topics: offsets and sizes from the partition leaders, and active groups."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from msgspec import Struct, field

from kgitops.cluster.kafka.answers import ask_each_broker, result_of
from kgitops.cluster.kafka.read.groups import ActiveGroups, read_active_groups
from kgitops.cluster.kafka.read.rounds import list_topics
from kgitops.cluster.kafka.read.topics import ListedTopic, TopicListing
from kgitops.cluster.kafka.transport.wire import Message, Wire
from kgitops.model.cluster_state import NotChecked, TopicUsage, Usage
from kgitops.model.errors import UnreachableError

_EARLIEST, _LATEST = -2, -1
NO_LEADER = -1
_NO_EPOCH = -1
_READ_UNCOMMITTED = 0  # the latest offset is then the high watermark
_WITH_ERRORS = 3  # earlier versions of DescribeLogDirs answer with nothing where they refuse
_BROKER_TIMEOUT_MS = 10_000

ByPartition = dict[tuple[str, int], int]


class PartitionFacts(Struct):
    """Offsets and sizes by (topic, partition), and the reasons for what is missing."""

    starts: ByPartition = field(default_factory=dict)
    ends: ByPartition = field(default_factory=dict)
    sizes: ByPartition = field(default_factory=dict)
    not_checked: dict[str, NotChecked] = field(default_factory=dict)

    def add_missing(self, what: str, why: object) -> None:
        """Note that some of ``what`` is missing and why, once for all partitions."""
        self.not_checked.setdefault(
            what,
            NotChecked(
                problem=f"{what} could not be read everywhere, so it is not shown: {why}",
                advice="see that the principal may Describe the topics and the cluster and that "
                "every broker runs, and plan again to see it",
            ),
        )


def read_partitions(wire: Wire, listing: TopicListing, *, offsets_only: bool) -> PartitionFacts:
    """Send each leader two requests for offsets, and one for sizes."""
    facts = PartitionFacts()
    led = partitions_by_leader(listing)
    if led.pop(NO_LEADER, None):
        facts.add_missing("what partitions without a leader hold", "they have no leader now")

    def ask(leader: int) -> list[Message]:
        try:
            requests = _requests(led[leader], offsets_only=offsets_only)
            return wire.send_all(
                requests, lambda answer: answer, to=leader, timeout_ms=_BROKER_TIMEOUT_MS
            )
        except UnreachableError as error:
            facts.add_missing(f"what broker {leader} holds", error)
            return []

    for answer in ask_each_broker(wire, sorted(led), ask):
        _take(facts, answer)
    return facts


def _requests(partitions: Mapping[str, Sequence[int]], *, offsets_only: bool) -> Iterator[Message]:
    # Kafka refuses a request that has a partition twice, so each end needs its own request.
    yield offsets_request(partitions, _EARLIEST)
    yield offsets_request(partitions, _LATEST)
    if not offsets_only:
        topic = DescribeLogDirsRequest.DescribableLogDirTopic
        yield DescribeLogDirsRequest(
            topics=[topic(topic=name, partitions=ids) for name, ids in partitions.items()],
            min_version=_WITH_ERRORS,
        )


def partitions_by_leader(listing: TopicListing) -> dict[int, dict[str, list[int]]]:
    """Return the partitions of each leader by topic; those without one are of NO_LEADER."""
    led: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
    for name, topic in listing.topics.items():
        for partition, leader in enumerate(topic.leaders):
            led[leader].setdefault(name, []).append(partition)
    return dict(led)


def offsets_request(partitions: Mapping[str, Sequence[int]], timestamp_ms: int) -> Message:
    """Ask a leader for the first offset of that time or later, or for an end of the partitions."""
    topic = ListOffsetsRequest.ListOffsetsTopic
    return ListOffsetsRequest(
        isolation_level=_READ_UNCOMMITTED,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.ListOffsetsPartition(
                        partition_index=partition,
                        current_leader_epoch=_NO_EPOCH,
                        timestamp=timestamp_ms,
                    )
                    for partition in ids
                ],
            )
            for name, ids in partitions.items()
        ],
    )


def _take(facts: PartitionFacts, answers: Sequence[Message]) -> None:
    for offsets, answer in zip((facts.starts, facts.ends), answers, strict=False):
        for topic in answer.topics:
            for row in topic.partitions:
                if row.error_code:
                    facts.add_missing(
                        "how many records the topics hold", result_of(row.error_code, None)
                    )
                else:
                    offsets[topic.name, row.partition_index] = row.offset
    for answer in answers[2:]:
        refusals = [answer.error_code, *(disk.error_code for disk in answer.results)]
        for code in filter(None, refusals):
            facts.add_missing("how many bytes the topics hold", result_of(code, None))
        for disk in answer.results:
            for topic in disk.topics:
                for row in topic.partitions:
                    if not row.is_future_key:  # a copy that moves to another disk
                        facts.sizes[topic.name, row.partition_index] = row.partition_size


def read_usage(
    wire: Wire, names: frozenset[str], *, offsets_only: bool, groups: bool = True
) -> Usage:
    """Read the usage of these topics; unknown values are None, with the reason.

    It sends at most three requests to each leader of their partitions, and to each broker one for
    its groups and one for each kind of group that is active there. Without ``groups`` it sends only
    those to the leaders, with ``offsets_only`` two to each.

    Raises:
        UnreachableError: the leaders of the partitions can't be found out.
    """
    listing = list_topics(wire, sorted(names))
    if not listing.topics:
        return Usage()
    if offsets_only or not groups:
        facts, active = read_partitions(wire, listing, offsets_only=offsets_only), ActiveGroups()
    else:
        with ThreadPoolExecutor(max_workers=1) as pool:
            readers = pool.submit(read_active_groups, wire, listing.brokers, listing.topics)
            facts = read_partitions(wire, listing, offsets_only=False)
            active = readers.result()
    return Usage(
        topics={name: _usage(name, topic, facts, active) for name, topic in listing.topics.items()},
        not_checked=(*facts.not_checked.values(), *active.not_checked),
    )


def _usage(
    name: str, topic: ListedTopic, facts: PartitionFacts, groups: ActiveGroups
) -> TopicUsage:
    def each(known: ByPartition) -> tuple[int | None, ...]:
        return tuple(known.get((name, partition)) for partition in range(len(topic.assignment)))

    return TopicUsage(
        log_start_offsets=each(facts.starts),
        high_watermarks=each(facts.ends),
        size_bytes=each(facts.sizes),
        active_groups=None if groups.by_topic is None else groups.by_topic[name],
    )
