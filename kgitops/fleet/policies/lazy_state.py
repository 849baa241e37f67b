"""The whole cluster for policies, where a plan is made from a part of it.

Differing objects are at hand. Everything else stays in its Parquet files and is read when a policy
asks: the small columns for names and sums, single topics for ``topic_state``, all of a kind for the
rest.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kgitops.desired.state import DesiredState
from kgitops.fleet.policies.lazy_parts import (
    LazyAcls,
    LazyOwners,
    LazyQuotas,
    ParquetState,
    StatePart,
)
from kgitops.model.cluster_state import ClusterState
from kgitops.model.json.declared import DesiredQuota, DesiredTopic
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.topics import TopicState

if TYPE_CHECKING:
    import pyarrow as pa

    from kgitops.fleet.policies.state_reader import TopicSums


_FEW = 50
"""The most topics of a piece that are built one by one: after them, all of the piece at once."""
_ROWS = 1 << 32
"""More than a piece has rows."""


class LazyTopics(StatePart, Mapping[str, TopicState]):
    """Implements ``SupportsTopicSums``, too.

    ``at_hand`` are topics of the state, ``absent`` names that it doesn't have: for these no file
    is opened, and they alone travel to another process.
    """

    def __init__(
        self, stored: ParquetState, at_hand: Mapping[str, TopicState], absent: frozenset[str]
    ) -> None:
        super().__init__(stored)
        self._at_hand = at_hand
        self._absent = absent
        self._made: dict[str, TopicState] = {}
        self._bodies: dict[int, pa.Table] = {}
        self._few: Counter[int] = Counter()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return LazyTopics, (self._stored, dict(self._at_hand), self._absent)

    def __getitem__(self, name: str) -> TopicState:
        topic = self._at_hand.get(name) or self._made.get(name)
        if topic is None and self._may_exist(name) and name in self._places:
            topic = self._make(name)
        if topic is None:
            raise KeyError(name)
        return topic

    def __contains__(self, name: object) -> bool:
        return name in self._at_hand or (
            isinstance(name, str) and self._may_exist(name) and name in self._places
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def topic_count(self) -> int:
        """The number of topics without internal ones."""
        return len(self._sums.names)

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics with this prefix, without internal ones."""
        return self._sums.partitions_below(prefix)

    def marked_for_deletion(self) -> frozenset[str]:
        """The names of the topics that are marked for deletion."""
        return frozenset(chain.from_iterable(self._stored.pieces(lambda r, piece: r.going(piece))))

    def _may_exist(self, name: str) -> bool:
        """True if the files must be asked: no cluster has a topic with an invalid name."""
        return name not in self._absent and topic_name_problem(name) is None

    def _make(self, name: str) -> TopicState:
        piece, row = divmod(self._places[name], _ROWS)
        bodies = self._bodies.get(piece)
        if bodies is None:
            bodies = self._stored.read(lambda reader: reader.bodies(piece))
        self._few[piece] += 1
        one_by_one = self._few[piece] <= _FEW
        if one_by_one:
            self._bodies[piece] = bodies
            wanted = bodies.slice(row, 1)
        else:
            self._bodies.pop(piece, None)
            wanted = bodies
        self._made |= self._stored.read(lambda reader: reader.topics(wanted, name))
        return self._made[name]

    @cached_property
    def _names(self) -> "list[pa.Table]":
        return list(self._stored.pieces(lambda reader, piece: reader.names(piece)))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        """Name to piece and row, as one number: there may be millions."""
        tables = self._names
        return self._stored.read(lambda reader: reader.places(tables, _ROWS))

    @cached_property
    def _sums(self) -> "TopicSums":
        tables = self._names
        return self._stored.read(lambda reader: reader.sums(tables))


def lazy_cluster_state(
    current: ClusterState, desired: DesiredState, files: Sequence[Path], cluster: str
) -> ClusterState:
    """The state of ``cluster`` in ``files``, for policies.

    ``current`` is the part of it that a plan for ``desired`` is made from: it holds those of the
    declared objects that exist. The state travels to another process as paths and that part.
    """
    stored = ParquetState(tuple(files), cluster)
    names = {topic.name for topic in desired.of(DesiredTopic) if topic.virtual_cluster is None}
    topics = frozenset(names - current.topics.keys())
    quotas = frozenset(quota.entity for quota in desired.of(DesiredQuota)) - current.quotas.keys()
    registry = current.registry
    return replace(
        current,
        topics=LazyTopics(stored, current.topics, topics),
        acls=LazyAcls(stored),
        quotas=LazyQuotas(stored, current.quotas, quotas),
        registry=registry and replace(registry, owners=LazyOwners(stored)),
    )
