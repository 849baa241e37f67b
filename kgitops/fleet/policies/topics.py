"""The topics of a saved state, of which few are at hand and the others read as they are needed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from kgitops.fleet.policies.stored import Late, Stored
from kgitops.model.resources.names import topic_name_problem
from kgitops.model.resources.topics import TopicState

if TYPE_CHECKING:
    import pyarrow as pa

    from kgitops.fleet.policies.reader import Sums

_FEW = 50
"""So many topics of a piece are made one by one: after them, all of the piece at once."""
_ROWS = 1 << 32
"""More than a piece has rows."""


class TopicsAtLarge(Late, Mapping[str, TopicState]):
    """Implements ``policy.large.SupportsTopicSums``, too.

    ``at_hand`` are topics of the state, ``absent`` names that it doesn't have: for these no file
    is opened, and they alone travel to another process.
    """

    def __init__(
        self, stored: Stored, at_hand: Mapping[str, TopicState], absent: frozenset[str]
    ) -> None:
        super().__init__(stored)
        self._at_hand = at_hand
        self._absent = absent
        self._made: dict[str, TopicState] = {}
        self._bodies: dict[int, pa.Table] = {}
        self._few: Counter[int] = Counter()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return TopicsAtLarge, (self._stored, dict(self._at_hand), self._absent)

    def __getitem__(self, name: str) -> TopicState:
        found = self._at_hand.get(name) or self._made.get(name)
        if found is None and self._may_be(name) and name in self._places:
            found = self._make(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._at_hand or (
            isinstance(name, str) and self._may_be(name) and name in self._places
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def topic_count(self) -> int:
        """How many topics, internal ones left out."""
        return len(self._sums.names)

    def partitions(self, prefix: str) -> int:
        """The partitions of all topics, internal ones left out, whose name begins so."""
        return self._sums.partitions_below(prefix)

    def going(self) -> frozenset[str]:
        """The names of the topics that are marked for deletion."""
        return frozenset(chain.from_iterable(self._stored.pieces(lambda r, piece: r.going(piece))))

    def _may_be(self, name: str) -> bool:
        """Whether files must tell: no cluster has a topic whose name is none."""
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
    def _sums(self) -> "Sums":
        tables = self._names
        return self._stored.read(lambda reader: reader.sums(tables))
