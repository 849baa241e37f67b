"""What topics hold and who reads them: no diff needs it, a reviewer does."""

from concurrent.futures import ThreadPoolExecutor

from kgitops.cluster.kafka.read.groups import ActiveGroups, read_active_groups
from kgitops.cluster.kafka.read.partitions import ByPartition, Told, read_partitions
from kgitops.cluster.kafka.read.rounds import list_topics
from kgitops.cluster.kafka.read.topics import Listed
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.cluster_state import TopicUsage, Usage


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
