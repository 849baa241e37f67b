"""Topics read so that what is said of each was true of it at one moment.

They are listed before their configs are read and once more after: only what was so both times is
believed. Whatever moved meanwhile is read again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgitops.cluster.kafka.answers import is_passing, unreadable
from kgitops.cluster.kafka.read.brokers import Settings
from kgitops.cluster.kafka.read.configs import Described, Refused, describe
from kgitops.cluster.kafka.read.topics import (
    GONE,
    Listed,
    Listing,
    Reassignments,
    content_of,
    listing_of,
    listing_request,
    read_reassignments,
)
from kgitops.cluster.kafka.transport.decoded import kept
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.model.errors import UnreachableError

ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topics, by name what each itself sets, what moves, and the brokers' own configs."""

    cluster_id: str
    listed: Mapping[str, Listed]
    configs: Mapping[str, Mapping[str, str]]
    moves: Reassignments = field(default_factory=dict)
    settings: Mapping[int, Settings] = field(default_factory=dict)


def read_topics(wire: Wire, names: Sequence[str] | None) -> Topics:
    """These topics, or all; what is made meanwhile is left for the next reading.

    Raises:
        UnreachableError: they can't be read, or the principal may not read one of them.
    """
    before = list_topics(wire, names)
    configs: dict[str, Mapping[str, str]] = {}  # by topic id
    settings: dict[int, Settings] = {}
    for _ in range(ROUNDS):
        unknown = [name for name, topic in before.topics.items() if topic.topic_id not in configs]
        moves = read_reassignments(wire)
        described = describe(wire, unknown, () if settings else before.brokers)
        settings |= _settings(described)
        after = _list_again(wire, names, before)
        for name, own in _configs(described).items():
            topic_id = before.topics[name].topic_id
            if name in after.topics and after.topics[name].topic_id == topic_id:
                configs[topic_id] = own
        if settings and all(
            topic.topic_id in configs and topic.assignment == before.topics[name].assignment
            for name, topic in after.topics.items()
        ):
            return Topics(
                cluster_id=after.cluster_id,
                listed=after.topics,
                configs={name: configs[topic.topic_id] for name, topic in after.topics.items()},
                moves=moves,
                settings=settings,
            )
        before = after
    raise too_lively()


def list_topics(wire: Wire, names: Sequence[str] | None) -> Listing:
    """The topics of these names, or all that the principal may see.

    Raises:
        UnreachableError: one of the names may not be looked at.
    """
    return listing_of(kept(wire.send(listing_request(names))))


def too_lively() -> UnreachableError:
    """That no two looks at the cluster agree."""
    return UnreachableError(
        "the cluster's topics and brokers change faster than they can be read; try again when it "
        "is calmer"
    )


def _list_again(wire: Wire, names: Sequence[str] | None, before: Listing) -> Listing:
    """What is left of the topics; they are not decoded twice where nothing has moved."""
    data = kept(wire.send(listing_request(names)))
    if content_of(data, before.cluster_id) == before.content:
        return before
    after = listing_of(data)
    there = {name: after.topics[name] for name in before.topics if name in after.topics}
    return replace(after, topics=there)


def _configs(described: Described) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for name, own in described.topics.items():
        if not isinstance(own, Refused):
            found[name] = own
        elif own.code not in GONE and not is_passing(own.code):
            what = f"the configs of the topic {name!r}"
            raise unreadable(own.code, what, "DescribeConfigs on the topic", own.message)
    return found


def _settings(described: Described) -> Mapping[int, Settings]:
    found: dict[int, Settings] = {}
    for broker, settings in described.brokers.items():
        if not isinstance(settings, Refused):
            found[broker] = settings
        elif not is_passing(settings.code):
            what = f"the configs of broker {broker}"
            raise unreadable(
                settings.code, what, "DescribeConfigs on the cluster", settings.message
            )
    return found
