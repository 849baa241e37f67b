"""The order in which brokers take their turns, and how loads are evened out.

Where all racks have the same number of brokers, placing one replica after the other on the emptiest
broker of the emptiest rack amounts to taking turns: through the racks, and in each through its
brokers. The result depends on three numbers alone, so it is computed once for each three.
"""

import hashlib
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from msgspec import Struct

from kgitops.model.cluster_state import Broker
from kgitops.model.resources.topics import Assignment

_T = TypeVar("_T")


class BrokerChoice(Struct, kw_only=True):
    """The chosen brokers of some, and the spare ones that could replace them."""

    chosen: list[int]
    spare: list[int]


MayExchange = Callable[[int, int, int], bool]
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
        rows.append(tuple(with_least_leader(row, leaders)))
    return tuple(rows) if is_even(leaders, leaders) else None


def with_least_leader(replicas: list[int], leaders: dict[int, int]) -> list[int]:
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


def is_even(loads: Mapping[int, int], brokers: Collection[int]) -> bool:
    """True if no broker has two more than another, as in most placements."""
    counts = [loads[id_] for id_ in brokers]
    return not counts or max(counts) - min(counts) <= 1


def even_out(
    loads: dict[int, int],
    choices: Sequence[BrokerChoice],
    brokers: Collection[int],
    allowed: MayExchange,
) -> None:
    """Exchange brokers in ``choices``, and update ``loads``, while a chain of exchanges helps.

    Each chain moves one load from a broker to one that has at least two fewer.
    """
    if is_even(loads, brokers):
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
    choices: Sequence[BrokerChoice],
    chosen_in: dict[int, dict[int, None]],
    chains: dict[int, _Chain],
    allowed: MayExchange,
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
