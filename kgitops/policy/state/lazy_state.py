"""Interfaces of a state whose objects lie in files: sums and names without reading every object.

A part of such a state is read when a policy first asks for it; see ``LazyPart``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, runtime_checkable

from kgitops.model.cluster_state import ClusterState
from kgitops.model.errors import KgitopsError
from kgitops.model.resources.names import ALL_INTERNAL
from kgitops.model.resources.topics import TopicState

ReadingScope = Callable[[], AbstractContextManager[None]]
K = TypeVar("K")
V = TypeVar("V")


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


class Overlay(Mapping[K, V]):
    """``base`` with keys put and removed since; keys that were put come last."""

    def __init__(self, base: Mapping[K, V]) -> None:
        self._base = base
        self._put: dict[K, V] = {}
        self._touched: set[K] = set()

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self.remove(key)
        self._put[key] = value

    def remove(self, key: K) -> None:
        """Remove the key, if it is there."""
        self._touched.add(key)
        self._put.pop(key, None)

    def touched(self) -> Iterator[tuple[K, V | None, V | None]]:
        """Each key that was put or removed, with its value below and its value now."""
        return ((key, self._base.get(key), self._put.get(key)) for key in self._touched)

    def names(self) -> set[K]:
        """The keys, as a new set that the caller may change."""
        names = set(self._base)
        names -= self._touched
        names.update(self._put)
        return names

    def __getitem__(self, key: K) -> V:
        if key in self._touched:
            return self._put[key]
        return self._base[key]

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._base if key not in self._touched)
        yield from self._put

    def __len__(self) -> int:
        hidden = sum(key in self._base for key in self._touched)
        return len(self._base) - hidden + len(self._put)
