"""Decides which brokers hold a topic's replicas: rack-aware, even, and always in the same way.

The planner shows what this module decides and the embedded cluster does it, so both agree. Brokers
without a rack count as standing in one rack of their own, as in Kafka.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TypeVar

from kgitops.model.cluster_state import Broker
from kgitops.model.evenness import Choice, even_out
from kgitops.model.topics import Assignment

_T = TypeVar("_T")


class PlacementError(ValueError):
    """The brokers can't hold what was asked for; says why in one sentence."""


def place(
    brokers: Sequence[Broker],
    *,
    partitions: int,
    replication_factor: int,
    existing: Assignment = (),
    seed: str = "",
) -> Assignment:
    """The replicas of the partitions that ``existing`` lacks, up to ``partitions`` in all (A4-38).

    Fenced brokers get nothing. ``seed``, say the topic's name, decides where to start, so that the
    topics with few partitions don't all lie on the same brokers.

    Raises:
        PlacementError: there are too few brokers, or a count that no topic can have.
    """
    if partitions < 1:
        raise PlacementError(f"a topic needs at least 1 partition, not {partitions}")
    if partitions < len(existing):
        raise PlacementError(
            f"a topic with {len(existing)} partitions can't be reduced to {partitions}"
        )
    loads = _Loads(brokers, seed=seed)
    loads.require(replication_factor)
    for replicas in existing:
        loads.count(replicas)
    new = [_place_one(loads, replication_factor) for _ in range(len(existing), partitions)]
    # The order above is even by itself; only after partitions placed otherwise there is more to do.
    leading = [Choice(chosen=[replicas[0]], spare=list(replicas[1:])) for replicas in new]
    even_out(loads.leaders, leading, loads.rack_of, lambda *_: True)
    return tuple(
        tuple(_rotated(list(replicas), replicas.index(choice.chosen[0])))
        for replicas, choice in zip(new, leading, strict=True)
    )


def reassign(
    brokers: Sequence[Broker], current: Assignment, *, replication_factor: int
) -> Assignment:
    """The assignment with another replication factor that moves as few replicas as can be.

    A replica stays unless it is surplus or its broker isn't registered any more; of the surplus
    ones those on fenced brokers go first. The leader stays first as long as it stays at all.

    Raises:
        PlacementError: there are too few brokers, or the replication factor is less than 1.
    """
    loads = _Loads(brokers)
    _require_positive(replication_factor)
    registered = {broker.id for broker in brokers}
    kept = [tuple(id_ for id_ in replicas if id_ in registered) for replicas in current]
    for replicas in kept:
        loads.count(replicas)
    resized = [_resize(loads, replicas, replication_factor) for replicas in kept]
    stays = [_staying(before, after) for before, after in zip(kept, resized, strict=True)]
    choices = [
        _choice(loads, before, after, len(fixed))
        for before, after, fixed in zip(kept, resized, stays, strict=True)
    ]

    def allowed(index: int, old: int, new: int) -> bool:
        return loads.as_spread((*stays[index], *choices[index].chosen), old, new)

    even_out(loads.replicas, choices, loads.rack_of, allowed)
    return tuple((*fixed, *choice.chosen) for fixed, choice in zip(stays, choices, strict=True))


class _Loads:
    """How many replicas and leaders each unfenced broker has, while partitions are placed."""

    def __init__(self, brokers: Iterable[Broker], *, seed: str = "") -> None:
        self.racks = _racks(_unfenced(brokers), seed)
        self.rack_of = {id_: rack for rack, ids in self.racks.items() for id_ in ids}
        # With zeros: a Counter is slow where it has to answer for what it doesn't hold.
        self.leaders: Counter[int] = Counter(dict.fromkeys(self.rack_of, 0))
        self.replicas: Counter[int] = Counter(dict.fromkeys(self.rack_of, 0))
        self._in_rack: Counter[str | None] = Counter(dict.fromkeys(self.racks, 0))

    def require(self, replication_factor: int) -> None:
        _require_positive(replication_factor)
        if replication_factor > len(self.rack_of):
            raise PlacementError(
                f"{replication_factor} replicas need as many brokers, and "
                f"{len(self.rack_of)} {'is' if len(self.rack_of) == 1 else 'are'} unfenced"
            )

    def count(self, replicas: Sequence[int]) -> None:
        self.leaders.update(replicas[:1])
        for id_ in replicas:
            self.add(id_, 1)

    def add(self, id_: int, step: int) -> None:
        self.replicas[id_] += step
        if id_ in self.rack_of:
            self._in_rack[self.rack_of[id_]] += step

    def next_broker(self, taken: Sequence[int]) -> int | None:
        """The best broker for one more replica of a partition that has ``taken`` already."""
        beside = [self.rack_of[id_] for id_ in taken if id_ in self.rack_of]
        open_racks = [
            (beside.count(rack), self._in_rack[rack] / len(ids), place, ids)
            for place, (rack, ids) in enumerate(self.racks.items())
            if beside.count(rack) < len(ids)
        ]
        if not open_racks:
            return None
        *_, ids = min(open_racks)
        return min((id_ for id_ in ids if id_ not in taken), key=self.replicas.__getitem__)

    def as_spread(self, replicas: Sequence[int], old: int, new: int) -> bool:
        """Whether ``new`` in place of ``old`` leaves the partition no worse spread over racks."""
        if self.rack_of[old] == self.rack_of[new]:
            return True
        racks = [self.rack_of[id_] for id_ in replicas if id_ in self.rack_of]
        return racks.count(self.rack_of[new]) < racks.count(self.rack_of[old])

    def most_dispensable(self, replicas: Sequence[int]) -> int:
        """The replica to drop first: on a fenced broker, in a crowded rack, on a full broker."""
        beside = Counter(self.rack_of[id_] for id_ in replicas if id_ in self.rack_of)

        def worth(place: int) -> tuple[bool, bool, int, int, int]:
            id_ = replicas[place]
            live = id_ in self.rack_of
            crowd = beside[self.rack_of[id_]] if live else 0
            return live, place == 0, -crowd, -self.replicas[id_], -place

        return replicas[min(range(len(replicas)), key=worth)]


def _unfenced(brokers: Iterable[Broker]) -> tuple[tuple[int, str | None], ...]:
    return tuple((broker.id, broker.rack) for broker in brokers if not broker.fenced)


def _racks(brokers: tuple[tuple[int, str | None], ...], seed: str) -> dict[str | None, list[int]]:
    """Broker ids by rack; both in the order in which equals are taken, which ``seed`` rotates.

    It rotates each rack by another step: else a broker would share partitions, of all topics, with
    the same few others, and all its load would fall on these when it fails.
    """
    ids = _by_rack(brokers)
    return {
        rack: _rotated(ids[rack], _stable_hash(seed, place))
        for place, rack in enumerate(_rotated(list(ids), _stable_hash(seed)), 1)
    }


@lru_cache(maxsize=16)  # all topics of a cluster are placed on the same brokers
def _by_rack(brokers: tuple[tuple[int, str | None], ...]) -> Mapping[str | None, list[int]]:
    """The ids of each rack; ids and racks in their order."""
    ids: defaultdict[str | None, list[int]] = defaultdict(list)
    for id_, rack in sorted(brokers, key=itemgetter(0)):
        ids[rack].append(id_)
    return {
        rack: ids[rack] for rack in sorted(ids, key=lambda rack: (rack is not None, rack or ""))
    }


def _stable_hash(seed: str, number: int = 0) -> int:
    """The same in every process, unlike hash(); 0 without a seed."""
    if not seed:
        return 0
    return int.from_bytes(hashlib.sha256(f"{number}/{seed}".encode()).digest()[:8], "big")


def _rotated(items: list[_T], steps: int) -> list[_T]:
    start = steps % len(items) if items else 0
    return items[start:] + items[:start]


def _require_positive(replication_factor: int) -> None:
    if replication_factor < 1:
        raise PlacementError(f"a partition needs at least 1 replica, not {replication_factor}")


def _place_one(loads: _Loads, replication_factor: int) -> tuple[int, ...]:
    replicas: list[int] = []
    while len(replicas) < replication_factor:
        replicas.append(_taken(loads, replicas))
    leader = min(range(len(replicas)), key=lambda place: loads.leaders[replicas[place]])
    loads.leaders[replicas[leader]] += 1
    return tuple(_rotated(replicas, leader))


def _taken(loads: _Loads, replicas: Sequence[int]) -> int:
    id_ = loads.next_broker(replicas)
    if id_ is None:
        raise PlacementError(
            f"a partition on {len(replicas)} brokers needs one more, and no other is unfenced"
        )
    loads.add(id_, 1)
    return id_


def _resize(loads: _Loads, kept: Sequence[int], replication_factor: int) -> tuple[int, ...]:
    replicas = list(kept)
    while len(replicas) > replication_factor:
        surplus = loads.most_dispensable(replicas)
        loads.add(surplus, -1)
        replicas.remove(surplus)
    while len(replicas) < replication_factor:
        replicas.append(_taken(loads, replicas))
    return tuple(replicas)


def _staying(before: Sequence[int], after: tuple[int, ...]) -> tuple[int, ...]:
    """The replicas that have no alternative: all that there were, or where some go the leader."""
    return after[: len(before)] if len(after) >= len(before) else after[:1]


def _choice(loads: _Loads, before: Sequence[int], after: tuple[int, ...], staying: int) -> Choice:
    """What else could replace the rest: any other broker if it is new, else what was dropped."""
    others = before if len(after) < len(before) else loads.rack_of
    spare = [id_ for id_ in others if id_ in loads.rack_of and id_ not in after]
    return Choice(chosen=list(after[staying:]), spare=spare)
