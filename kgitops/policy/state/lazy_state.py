"""What a state offers whose objects lie in files: sums and names without reading every object.

A part of such a state is read where a policy first asks for it; see ``LazyPart``.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.resources.topics import TopicState

ReadingScope = Callable[[], AbstractContextManager[None]]


@runtime_checkable
class SupportsTopicSums(Protocol):
    """Implemented by a mapping of topics that can tell this more cheaply than by its values."""

    def topic_count(self) -> int:
        """How many topics, internal ones left out."""
        ...

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics, internal ones left out, whose name begins so."""
        ...

    def going(self) -> frozenset[str]:
        """The names of the topics that are marked for deletion."""
        ...


@runtime_checkable
class LazyPart(Protocol):
    """Implemented by a part of a state that is read from files when somebody first needs it.

    A policy that asks waits for it, but it is not the policy's doing: each reading is done within
    ``around``. Where it fails, what asks gets the error, and whatever a policy makes of that,
    ``failure`` has it from then on.
    """

    @property
    def failure(self) -> KgitopsError | None:
        """Why it can't be read; None as long as that was not tried, or did work."""
        ...

    def load_within(self, around: ReadingScope) -> None:
        """From now on do each piece of reading within ``around``."""
        ...


def lazy_parts(state: ClusterState) -> tuple[LazyPart, ...]:
    """The parts of ``state`` that are read late."""
    parts = (state.topics, state.acls, state.quotas)
    return tuple(part for part in parts if isinstance(part, LazyPart))


def count_topics(topics: Mapping[str, TopicState]) -> int:
    """How many topics, internal ones left out."""
    if isinstance(topics, SupportsTopicSums):
        return topics.topic_count()
    return len(topics) - sum(name in topics for name in ALL_INTERNAL)


def count_partitions(topics: Mapping[str, TopicState], prefix: str) -> int:
    """The partitions of all topics, internal ones left out, whose name begins so."""
    if isinstance(topics, SupportsTopicSums):
        return topics.partitions(prefix)
    internal = (topics[name] for name in ALL_INTERNAL if name.startswith(prefix) and name in topics)
    # To ask each of a hundred thousand whether it is internal takes longer than to add it.
    found = (len(topic.assignment) for name, topic in topics.items() if name.startswith(prefix))
    return sum(found) - sum(topic.num_partitions for topic in internal)


def topics_marked_for_deletion(topics: Mapping[str, TopicState]) -> frozenset[str]:
    """The names of the topics that are marked for deletion."""
    if isinstance(topics, SupportsTopicSums):
        return topics.going()
    return frozenset(name for name, topic in topics.items() if topic.marked_for_deletion)
