"""Assigns a topic's replicas to brokers: rack-aware, even, and deterministic.

The planner shows the assignment that this module makes and the embedded cluster carries it out, so
both agree. Brokers without a rack count as one rack of their own, as in Kafka.

Where all racks have the same number of brokers, placing one replica after the other on the emptiest
broker of the emptiest rack amounts to taking turns: through the racks, and in each through its
brokers. The result depends on three numbers alone, so it is computed once for each three.
"""

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.topics import Assignment

_T = TypeVar("_T")


class _BrokerChoice(Struct, kw_only=True):
    """The chosen brokers of some, and the spare ones that could replace them."""

    chosen: list[int]
    spare: list[int]


_MayExchange = Callable[[int, int, int], bool]
"""Takes the index of a choice, a chosen and a spare broker: true if they may be exchanged."""

_Chain = tuple[tuple[int, int, int], ...]


def racks_in_order(brokers: Iterable[Broker], seed: str = "") -> dict[str | None, list[int]]:
    """Ids of unfenced brokers by rack; among equals, earlier racks and brokers are taken first.

    ``seed`` rotates the order, each rack by another step. Otherwise a broker would share the
    partitions of all topics with the same few others, and they would take all its load when it
    fails.
    """
    ids = _by_rack(tuple([(broker.id, broker.rack) for broker in brokers if not broker.fenced]))
    return {
        rack: rotated(ids[rack], _stable_hash(seed, number))
        for number, rack in enumerate(rotated(list(ids), _stable_hash(seed)), 1)
    }


def rotated(items: list[_T], steps: int) -> list[_T]:
    """The items in the same cyclic order, starting ``steps`` items later."""
    start = steps % len(items) if items else 0
    return items[start:] + items[:start]


def place_in_turn(
    racks: Sequence[Sequence[int]],
    *,
    partitions: int,
    replication_factor: int,
    existing: Assignment,
) -> Assignment | None:
    """The partitions that ``existing`` lacks, if all can be placed by taking turns.

    None if they can't: racks are unequal, ``existing`` was placed differently, or leaders need to
    be evened out. There must be at least as many brokers as replicas.
    """
    if len({len(ids) for ids in racks}) != 1:
        return None
    turns = _turns(len(racks) * len(racks[0]), replication_factor, partitions)
    if turns is None:
        return None
    broker = list(chain.from_iterable(zip(*racks, strict=True))).__getitem__
    if any(tuple(map(broker, turn)) != now for turn, now in zip(turns, existing, strict=False)):
        return None
    return tuple([tuple(map(broker, turn)) for turn in turns[len(existing) :]])


@lru_cache(maxsize=256)
def _turns(brokers: int, replication_factor: int, partitions: int) -> Assignment | None:
    """For each partition the indexes of its brokers in turn; None if leaders aren't even."""
    leaders = dict.fromkeys(range(brokers), 0)
    rows = []
    for first in range(0, partitions * replication_factor, replication_factor):
        row = [turn % brokers for turn in range(first, first + replication_factor)]
        rows.append(tuple(_with_least_leader(row, leaders)))
    return tuple(rows) if _is_even(leaders, leaders) else None


def _with_least_leader(replicas: list[int], leaders: dict[int, int]) -> list[int]:
    """The replicas rotated to begin with the broker that leads least; adds it to ``leaders``."""
    leader = min(replicas, key=leaders.__getitem__)
    leaders[leader] += 1
    return rotated(replicas, replicas.index(leader))


@lru_cache(maxsize=16)  # all topics of a cluster are placed on the same brokers
def _by_rack(brokers: tuple[tuple[int, str | None], ...]) -> Mapping[str | None, list[int]]:
    """The ids of each rack; ids and racks in ascending order."""
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


def _is_even(loads: Mapping[int, int], brokers: Collection[int]) -> bool:
    """True if no broker has two more than another, as in most placements."""
    counts = [loads[id_] for id_ in brokers]
    return not counts or max(counts) - min(counts) <= 1


def even_out(
    loads: dict[int, int],
    choices: Sequence[_BrokerChoice],
    brokers: Collection[int],
    allowed: _MayExchange,
) -> None:
    """Exchange brokers in ``choices``, and update ``loads``, while a chain of exchanges helps.

    Each chain moves one load from a broker to one that has at least two fewer.
    """
    if _is_even(loads, brokers):
        return
    chosen_in: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for index, choice in enumerate(choices):
        for id_ in choice.chosen:
            chosen_in[id_][index] = None
    candidates = set(brokers)
    while candidates:
        fullest = max(sorted(candidates), key=lambda id_: loads[id_])
        if loads[fullest] - min(loads[id_] for id_ in brokers) <= 1:
            return
        before: dict[int, _Chain] = {fullest: ()}
        chain = _chain(loads, choices, chosen_in, before, allowed)
        if chain is None:
            # No broker that the search visited is fuller, so none of them can start a chain.
            candidates -= before.keys()
            continue
        for index, old, new in chain:
            choice = choices[index]
            choice.chosen[choice.chosen.index(old)] = new
            choice.spare[choice.spare.index(new)] = old
            del chosen_in[old][index]
            chosen_in[new][index] = None
        loads[fullest] -= 1
        loads[chain[-1][2]] += 1


def _chain(
    loads: dict[int, int],
    choices: Sequence[_BrokerChoice],
    chosen_in: dict[int, dict[int, None]],
    chains: dict[int, _Chain],
    allowed: _MayExchange,
) -> _Chain | None:
    """The shortest chain that helps; ``chains`` has the start, and collects all visited brokers."""
    (start,) = chains
    queue = deque([start])
    while queue:
        old = queue.popleft()
        used = {index for index, _, _ in chains[old]}
        for index in chosen_in.get(old, ()):
            for new in choices[index].spare if index not in used else ():
                if new not in chains and allowed(index, old, new):
                    chains[new] = (*chains[old], (index, old, new))
                    if loads[start] - loads[new] > 1:
                        return chains[new]
                    queue.append(new)
    return None


_CACHED_PARTITIONS = 100
"""Placements of topics with more partitions are not cached: they would take much memory."""

_Racks = tuple[tuple[int, ...], ...]
"""The ids of each rack's brokers."""


class PlacementError(ValueError):
    """The brokers can't hold the replicas that were asked for; says why in one sentence."""


def place(
    brokers: Sequence[Broker],
    *,
    partitions: int,
    replication_factor: int,
    existing: Assignment = (),
    seed: str = "",
) -> Assignment:
    """The replicas of the partitions that ``existing`` lacks, up to ``partitions`` in all (A4-38).

    Fenced brokers get nothing. ``seed``, such as the topic's name, decides which broker is first,
    so that topics with few partitions are not all placed on the same brokers.

    Raises:
        PlacementError: there are too few brokers, or a count that no topic can have.
    """
    if partitions < 1:
        raise PlacementError(f"a topic needs at least 1 partition, not {partitions}")
    if partitions < len(existing):
        raise PlacementError(
            f"a topic with {len(existing)} partitions can't be reduced to {partitions}"
        )
    racks = _ids(racks_in_order(brokers, seed))
    _require(replication_factor, sum(map(len, racks)))
    place_all = _cached_placement if partitions <= _CACHED_PARTITIONS else _placement
    return place_all(racks, partitions, replication_factor, existing)


def _placement(
    racks: _Racks, partitions: int, replication_factor: int, existing: Assignment
) -> Assignment:
    in_turn = place_in_turn(
        racks, partitions=partitions, replication_factor=replication_factor, existing=existing
    )
    if in_turn is not None:
        return in_turn
    loads = _Loads(racks)
    loads.count(existing)
    new = [
        _with_least_leader(loads.take((), replication_factor), loads.leaders)
        for _ in range(len(existing), partitions)
    ]
    # The order above is even by itself, unless the existing partitions were placed differently.
    leading = [_BrokerChoice(chosen=replicas[:1], spare=replicas[1:]) for replicas in new]
    even_out(loads.leaders, leading, loads.rack_of, lambda *_: True)
    return tuple(
        tuple(rotated(replicas, replicas.index(choice.chosen[0])))
        for replicas, choice in zip(new, leading, strict=True)
    )


# Among a hundred thousand topics on the same brokers many have the same placement.
_cached_placement = lru_cache(maxsize=1 << 12)(_placement)


def reassign(
    brokers: Sequence[Broker], current: Assignment, *, replication_factor: int
) -> Assignment:
    """The assignment with another replication factor that moves as few replicas as possible.

    A replica stays unless it is surplus or its broker is no longer registered; of the surplus ones
    those on fenced brokers go first. The leader stays first if it stays at all.

    Raises:
        PlacementError: there are too few brokers, or the replication factor is less than 1.
    """
    loads = _Loads(_ids(racks_in_order(brokers)))
    _require_positive(replication_factor)
    registered = {broker.id for broker in brokers}
    kept = tuple([tuple([id_ for id_ in ids if id_ in registered]) for ids in current])
    loads.count(kept)
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


def _ids(racks: Mapping[str | None, Sequence[int]]) -> _Racks:
    return tuple(map(tuple, racks.values()))


class _Loads:
    """The counts of replicas and leaders on each unfenced broker while partitions are placed."""

    def __init__(self, racks: _Racks) -> None:
        self._ids = racks
        self.rack_of = {id_: rack for rack, ids in enumerate(self._ids) for id_ in ids}
        self.leaders = defaultdict(int, dict.fromkeys(self.rack_of, 0))
        self.replicas = defaultdict(int, dict.fromkeys(self.rack_of, 0))
        self._in_rack = [0] * len(self._ids)

    def count(self, assignment: Assignment) -> None:
        for id_, leads in Counter([replicas[0] for replicas in assignment if replicas]).items():
            self.leaders[id_] += leads
        for id_, replicas in Counter(chain.from_iterable(assignment)).items():
            self.add(id_, replicas)

    def add(self, id_: int, step: int) -> None:
        self.replicas[id_] += step
        if id_ in self.rack_of:
            self._in_rack[self.rack_of[id_]] += step

    def take(self, taken: Sequence[int], missing: int) -> list[int]:
        """The best brokers for ``missing`` more replicas of a partition that has ``taken`` already.

        Raises:
            PlacementError: there are too few brokers.
        """
        per_rack = [0] * len(self._ids)
        for id_ in taken:
            if id_ in self.rack_of:
                per_rack[self.rack_of[id_]] += 1
        turns: list[int] = []
        while len(turns) < missing:
            turns += self._emptiest(per_rack, missing - len(turns), len(taken) + len(turns))
        # A replica on one broker does not change the order of the others in its rack.
        in_turn = {rack: iter(self._free(rack, taken)) for rack in dict.fromkeys(turns)}
        chosen = [next(in_turn[rack]) for rack in turns]
        for id_ in chosen:
            self.replicas[id_] += 1
        return chosen

    def _free(self, rack: int, taken: Sequence[int]) -> list[int]:
        """The rack's brokers except ``taken``, emptiest first."""
        ids = [id_ for id_ in self._ids[rack] if id_ not in taken] if taken else self._ids[rack]
        return sorted(ids, key=self.replicas.__getitem__)

    def _emptiest(self, per_rack: list[int], limit: int, so_far: int) -> list[int]:
        """Racks with the fewest replicas of the partition, emptiest first; each gets one more."""
        room = [rack for rack, ids in enumerate(self._ids) if per_rack[rack] < len(ids)]
        if not room:
            raise PlacementError(
                f"a partition on {so_far} brokers needs one more, and no other is unfenced"
            )
        least = min([per_rack[rack] for rack in room])
        equals = [rack for rack in room if per_rack[rack] == least]
        filled = [count / len(ids) for count, ids in zip(self._in_rack, self._ids, strict=True)]
        racks = sorted(equals, key=filled.__getitem__)[:limit]
        for rack in racks:
            per_rack[rack] += 1
            self._in_rack[rack] += 1
        return racks

    def as_spread(self, replicas: Sequence[int], old: int, new: int) -> bool:
        """True if ``new`` in place of ``old`` spreads the partition no worse over racks."""
        if self.rack_of[old] == self.rack_of[new]:
            return True
        racks = [self.rack_of[id_] for id_ in replicas if id_ in self.rack_of]
        return racks.count(self.rack_of[new]) < racks.count(self.rack_of[old])

    def most_dispensable(self, replicas: Sequence[int]) -> int:
        """The replica to drop first: on a fenced broker, in a crowded rack, on a full broker."""
        per_rack = Counter(self.rack_of[id_] for id_ in replicas if id_ in self.rack_of)

        def worth(position: int) -> tuple[bool, bool, int, int, int]:
            id_ = replicas[position]
            live = id_ in self.rack_of
            crowd = per_rack[self.rack_of[id_]] if live else 0
            return live, position == 0, -crowd, -self.replicas[id_], -position

        return replicas[min(range(len(replicas)), key=worth)]


def _require(replication_factor: int, brokers: int) -> None:
    _require_positive(replication_factor)
    if replication_factor > brokers:
        one = replication_factor == 1
        several = f"{replication_factor} replicas need as many brokers"
        needed = "1 replica needs a broker" if one else several
        held = f"{brokers or 'none'} {'are' if brokers > 1 else 'is'}"
        raise PlacementError(f"{needed}, and {held} unfenced")


def _require_positive(replication_factor: int) -> None:
    if replication_factor < 1:
        raise PlacementError(f"a partition needs at least 1 replica, not {replication_factor}")


def _resize(loads: _Loads, kept: Sequence[int], replication_factor: int) -> tuple[int, ...]:
    replicas = list(kept)
    while len(replicas) > replication_factor:
        surplus = loads.most_dispensable(replicas)
        loads.add(surplus, -1)
        replicas.remove(surplus)
    return (*replicas, *loads.take(replicas, replication_factor - len(replicas)))


def _staying(before: Sequence[int], after: tuple[int, ...]) -> tuple[int, ...]:
    """The replicas that are fixed: all existing ones, or only the leader where some are dropped."""
    return after[: len(before)] if len(after) >= len(before) else after[:1]


def _choice(
    loads: _Loads, before: Sequence[int], after: tuple[int, ...], staying: int
) -> _BrokerChoice:
    """The alternatives to the rest: any other broker if replicas are added, else dropped ones."""
    others = before if len(after) < len(before) else loads.rack_of
    spare = [id_ for id_ in others if id_ in loads.rack_of and id_ not in after]
    return _BrokerChoice(chosen=list(after[staying:]), spare=spare)
