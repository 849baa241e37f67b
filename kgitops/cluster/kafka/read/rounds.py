"""Topics read consistently: everything returned about a topic was true of it at one moment.

Topics are listed before their configs are read and again afterwards; only what was the same both
times counts. Topics that changed meanwhile are read again.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from kgitops.cluster.kafka.answers import is_transient, unreadable_error
from kgitops.cluster.kafka.read.brokers import BrokerSettings
from kgitops.cluster.kafka.read.configs import ConfigDescriptions, DescribeFailure, describe
from kgitops.cluster.kafka.read.topics import (
    GONE,
    ListedTopic,
    Reassignments,
    TopicListing,
    content_of,
    listing_of,
    listing_request,
    read_reassignments,
)
from kgitops.cluster.kafka.transport.decoded import Decoded
from kgitops.cluster.kafka.transport.wire import Wire
from kgitops.cluster.refusals import read_all
from kgitops.model.errors import UnreachableError

ROUNDS = 5


class ConsistentTopics(Struct, frozen=True, kw_only=True):
    """Topics of one moment with their own configs, their reassignments and the broker configs."""

    cluster_id: str
    listed: Mapping[str, ListedTopic]
    configs: Mapping[str, Mapping[str, str]]
    moves: Reassignments = field(default_factory=dict)
    settings: Mapping[int, BrokerSettings] = field(default_factory=dict)


def read_topics(wire: Wire, names: Sequence[str] | None) -> ConsistentTopics:
    """Read these topics, or all; topics created meanwhile are left for the next read.

    Raises:
        UnreachableError: they can't be read, or the principal may not read one of them.
    """
    before = list_topics(wire, names)
    configs: dict[str, Mapping[str, str]] = {}  # by topic id
    settings: dict[int, BrokerSettings] = {}
    for _ in range(ROUNDS):
        unknown = [name for name, topic in before.topics.items() if topic.topic_id not in configs]
        moves, (own_configs, brokers) = read_all(
            partial(read_reassignments, wire),
            partial(_read_configs, wire, unknown, () if settings else before.brokers),
        )
        settings |= brokers
        after = _list_again(wire, names, before)
        for name, own in own_configs.items():
            topic_id = before.topics[name].topic_id
            if name in after.topics and after.topics[name].topic_id == topic_id:
                configs[topic_id] = own
        if settings and all(
            topic.topic_id in configs and topic.assignment == before.topics[name].assignment
            for name, topic in after.topics.items()
        ):
            return ConsistentTopics(
                cluster_id=after.cluster_id,
                listed=after.topics,
                configs={name: configs[topic.topic_id] for name, topic in after.topics.items()},
                moves=moves,
                settings=settings,
            )
        before = after
    raise unstable_read_error()


def list_topics(wire: Wire, names: Sequence[str] | None) -> TopicListing:
    """List the topics of these names, or all that the principal may see.

    Raises:
        UnreachableError: the principal may not see one of the names.
    """
    return _list(wire, names, None)


def _list(wire: Wire, names: Sequence[str] | None, before: TopicListing | None) -> TopicListing:
    """List the topics; return ``before`` where nothing of it has changed, without decoding."""

    def listing(answer: Decoded[bytes]) -> TopicListing:
        if before and content_of(answer.value, before.cluster_id) == before.content:
            return before
        return listing_of(wire, answer.value, names)

    (listed,) = wire.send_all([listing_request(names)], listing)
    wire.check_cluster(listed.cluster_id)
    return listed


def unstable_read_error() -> UnreachableError:
    """Build the error for a cluster that changes between any two reads."""
    return UnreachableError(
        "the cluster's topics and brokers change faster than they can be read; try again when it "
        "is calmer"
    )


def _unreachable_error(errors: Mapping[int, UnreachableError]) -> UnreachableError:
    """Build the error for a cluster that answers, but none of whose brokers can be reached."""
    first = errors[min(errors)]
    if len(errors) == 1:
        return first
    return UnreachableError(f"none of the cluster's {len(errors)} brokers can be reached: {first}")


def _list_again(wire: Wire, names: Sequence[str] | None, before: TopicListing) -> TopicListing:
    """List the topics of ``before`` again."""
    after = _list(wire, names, before)
    there = {name: after.topics[name] for name in before.topics if name in after.topics}
    return replace(after, topics=there)


def _read_configs(
    wire: Wire, topics: Sequence[str], brokers: Sequence[int]
) -> tuple[Mapping[str, Mapping[str, str]], Mapping[int, BrokerSettings]]:
    """Read the configs of the topics and of those brokers that can be reached."""
    described = describe(wire, topics, brokers)
    settings, own = read_all(lambda: _settings(wire, described), lambda: _configs(wire, described))
    if not settings and described.unreachable:
        raise _unreachable_error(described.unreachable)
    return own, settings


def _configs(wire: Wire, described: ConfigDescriptions) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for name, own in described.topics.items():
        if not isinstance(own, DescribeFailure):
            found[name] = own
        elif own.code not in GONE and not is_transient(own.code):
            what = f"the configs of the topic {name!r}"
            raise unreadable_error(wire, "DescribeConfigs", what, own.code, own.message)
    return found


def _settings(wire: Wire, described: ConfigDescriptions) -> Mapping[int, BrokerSettings]:
    found: dict[int, BrokerSettings] = {}
    for broker, settings in described.brokers.items():
        if not isinstance(settings, DescribeFailure):
            found[broker] = settings
        elif not is_transient(settings.code):
            what = f"the configs of broker {broker}"
            raise unreadable_error(wire, "DescribeConfigs", what, settings.code, settings.message)
    return found
