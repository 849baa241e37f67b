"""Interfaces of a state whose objects lie in files: sums and names without reading every object.

A part of such a state is read when a policy first asks for it; see ``LazyPart``.
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
    """Implemented by a mapping of topics that knows these sums without a look at its values."""

    def topic_count(self) -> int:
        """The number of topics, without internal ones."""
        ...

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics whose name begins with ``prefix``, without internal ones."""
        ...

    def marked_for_deletion(self) -> frozenset[str]:
        """The names of the topics that are marked for deletion."""
        ...


@runtime_checkable
class LazyPart(Protocol):
    """Implemented by a part of a state that is read from files at its first use.

    A policy waits for the reading but is not held responsible for it: each reading is done within
    ``scope``. If it fails, the caller gets the error, and ``failure`` keeps it even if a policy
    catches it.
    """

    @property
    def failure(self) -> KgitopsError | None:
        """The error of a failed reading; None before the reading and after a successful one."""
        ...

    def load_within(self, scope: ReadingScope) -> None:
        """Do each piece of reading within ``scope`` from now on."""
        ...


def lazy_parts(state: ClusterState) -> tuple[LazyPart, ...]:
    """The parts of ``state`` that are read at their first use."""
    parts = (state.topics, state.acls, state.quotas)
    return tuple(part for part in parts if isinstance(part, LazyPart))


def count_topics(topics: Mapping[str, TopicState]) -> int:
    """The number of topics, without internal ones."""
    if isinstance(topics, SupportsTopicSums):
        return topics.topic_count()
    return len(topics) - sum(name in topics for name in ALL_INTERNAL)


def count_partitions(topics: Mapping[str, TopicState], prefix: str) -> int:
    """The partitions of all topics whose name begins with ``prefix``, without internal ones."""
    if isinstance(topics, SupportsTopicSums):
        return topics.partitions(prefix)
    internal = (topics[name] for name in ALL_INTERNAL if name.startswith(prefix) and name in topics)
    # To ask each of a hundred thousand if it is internal takes longer than to add it.
    counts = (len(topic.assignment) for name, topic in topics.items() if name.startswith(prefix))
    return sum(counts) - sum(topic.num_partitions for topic in internal)


def topics_marked_for_deletion(topics: Mapping[str, TopicState]) -> frozenset[str]:
    """The names of the topics that are marked for deletion."""
    if isinstance(topics, SupportsTopicSums):
        return topics.marked_for_deletion()
    return frozenset(name for name, topic in topics.items() if topic.marked_for_deletion)
