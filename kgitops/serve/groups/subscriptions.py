"""The topics that members read, out of the metadata that consumers send along (KIP-429)."""

from kgitops.serve.groups.group import Group
from kgitops.wire import messages
from kgitops.wire.codec import read
from kgitops.wire.errors import MalformedError

CONSUMER = "consumer"
"""The protocol type of consumers; Connect and others use groups for themselves."""
_VERSION_BYTES = 2
_NEWEST = 3


def subscribed_topics(group: Group) -> frozenset[str] | None:
    """The topics of all members, by their own names; None if they don't tell."""
    if group.protocol_type != CONSUMER:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        for _, metadata in member.protocols[:1]:
            try:
                topics.update(_topics(metadata))
            except MalformedError:
                return None
    return frozenset(topics)


def _topics(metadata: bytes) -> list[str]:
    version = int.from_bytes(metadata[:_VERSION_BYTES], "big")
    topics: list[str] = read(
        messages.ConsumerProtocolSubscription,
        min(version, _NEWEST),
        metadata,
        _VERSION_BYTES,
    ).topics
    return topics
