"""In which order brokers take their turns, and what follows for a topic on equal racks.

Where all racks have as many brokers, placing one replica after the other on the emptiest broker of
the emptiest rack comes to no more than going round: through the racks, and in each through its
brokers. What a topic then looks like depends on three numbers alone, so that it is found once.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from kgitops.model.cluster_state import Broker
from kgitops.model.placement.evenness import is_even
from kgitops.model.resources.topics import Assignment

_T = TypeVar("_T")


def racks_in_order(brokers: Iterable[Broker], seed: str = "") -> dict[str | None, list[int]]:
    """Ids of unfenced brokers by rack; both in the order in which equals are taken.

    ``seed`` rotates it, each rack by another step: else a broker would share partitions, of all
    topics, with the same few others, and all its load would fall on these when it fails.
    """
    ids = _by_rack(tuple([(broker.id, broker.rack) for broker in brokers if not broker.fenced]))
    return {
        rack: rotated(ids[rack], _stable_hash(seed, place))
        for place, rack in enumerate(rotated(list(ids), _stable_hash(seed)), 1)
    }


def rotated(items: list[_T], steps: int) -> list[_T]:
    """The items from another start, so many steps on; the same order all around."""
    start = steps % len(items) if items else 0
    return items[start:] + items[:start]


def going_round(
    racks: Sequence[Sequence[int]],
    *,
    partitions: int,
    replication_factor: int,
    existing: Assignment,
) -> Assignment | None:
    """The partitions that ``existing`` lacks, where all are placed by going round.

    None where they aren't: racks are unequal, ``existing`` was placed otherwise, or leaders need to
    be evened out. There must be as many brokers as replicas.
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
    """Which turns each partition takes of those of all brokers; None if leaders aren't even."""
    leaders = dict.fromkeys(range(brokers), 0)
    rows = []
    for first in range(0, partitions * replication_factor, replication_factor):
        row = [turn % brokers for turn in range(first, first + replication_factor)]
        rows.append(tuple(led(row, leaders)))
    return tuple(rows) if is_even(leaders, leaders) else None


def led(replicas: list[int], leaders: dict[int, int]) -> list[int]:
    """The replicas from the one that leads least, which is counted."""
    leader = min(replicas, key=leaders.__getitem__)
    leaders[leader] += 1
    return rotated(replicas, replicas.index(leader))


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
