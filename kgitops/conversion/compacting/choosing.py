"""Chooses profiles, the sets of items that save the most lines, and names for them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

from kgitops.conversion.compacting.items import NAMING, SIZE, Item, TopicItems

MOST_PROFILES = 12
"""More profiles than this are harder to know than the configs themselves."""
_FEWEST_TOPICS = 3
_LEAST_SAVED = 6
_PROFILE_LINES = 6
_COMPARED = 40
_MEASURED = 400

Profile = frozenset[Item]
_CLEANUP = {
    "compact": "compacted",
    "delete": "deleted",
    "compact,delete": "compacted-and-deleted",
    "delete,compact": "compacted-and-deleted",
}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_BYTES = ((1024**4, "TiB"), (1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB"))


def choose_profiles(topics: Iterable[TopicItems]) -> list[Profile]:
    """Profiles, the most useful first. Each saves more lines than it takes."""
    counts = Counter(topics)
    most = [topic for topic, _ in counts.most_common(_MEASURED)]
    candidates = _candidates(most)
    saved = {
        candidate: {topic: gain for topic in most if (gain := topic.saved(candidate) - 1) > 0}
        for candidate in candidates
    }
    now: dict[TopicItems, int] = {}
    chosen: list[Profile] = []
    while len(chosen) < MOST_PROFILES:
        best = max(
            candidates, key=lambda candidate: _gain(candidate, saved, now, counts), default=None
        )
        if best is None or _gain(best, saved, now, counts) < _LEAST_SAVED:
            break
        chosen.append(best)
        candidates.remove(best)
        for topic, gain in saved[best].items():
            now[topic] = max(now.get(topic, 0), gain)
    return chosen


def _candidates(topics: list[TopicItems]) -> list[Profile]:
    """The items of each topic, and those that two of the most frequent share; in a fixed order."""
    whole = [topic.items for topic in topics]
    shared = [one & other for one, other in combinations(whole[:_COMPARED], 2)]
    return [items for items in dict.fromkeys((*whole, *shared)) if len(items) > 1]


def _gain(
    candidate: Profile,
    saved: Mapping[Profile, Mapping[TopicItems, int]],
    now: Mapping[TopicItems, int],
    counts: Mapping[TopicItems, int],
) -> int:
    better = {
        topic: gain - now.get(topic, 0)
        for topic, gain in saved[candidate].items()
        if gain > now.get(topic, 0)
    }
    if sum(counts[topic] for topic in better) < _FEWEST_TOPICS:
        return 0
    lines = sum(counts[topic] * gain for topic, gain in better.items())
    return lines - _PROFILE_LINES - len(candidate)


def best_profile(topic: TopicItems, profiles: Iterable[Profile]) -> Profile | None:
    """The profile that saves the topic the most; None if none saves more than its own line."""
    best = max(profiles, key=topic.saved, default=None)
    return best if best is not None and topic.saved(best) > 1 else None


def choose_defaults(topics: Iterable[TopicItems], every: Iterable[TopicItems]) -> Profile:
    """The items that more than half of ``topics`` have, of the keys that ``every`` topic has."""
    counts = Counter(topics)
    total = sum(counts.values())
    if total < _FEWEST_TOPICS:
        return frozenset()
    frequent: Counter[Item] = Counter()
    for topic, count in counts.items():
        for item in topic.items:
            frequent[item] += count
    candidate = frozenset(item for item, count in frequent.items() if count * 2 > total)
    different = set(every)
    return frozenset(
        item for item in candidate if all(topic.takes(frozenset({item})) for topic in different)
    )


def profile_names(profiles: Iterable[Iterable[Item]]) -> list[str]:
    """A name for each profile, none twice."""
    names: list[str] = []
    for items in profiles:
        values = dict(items)
        name = "-".join(_parts(values)) or "standard"
        for part in _further_parts(values):
            if name not in names:
                break
            name = f"{name}-{part}"
        number, free = 1, name
        while free in names:
            number += 1
            free = f"{name}-{number}"
        names.append(free)
    return names


def _parts(items: dict[str, str]) -> Iterable[str]:
    """Words for the profile, the most telling first."""
    if SIZE in items and len(items) == 1:
        yield f"{items[SIZE]}-replicas"
    cleanup = items.get("configs.cleanup.policy")
    if cleanup is not None:
        yield _CLEANUP.get(cleanup, "cleanup")
    if items.get("configs.remote.storage.enable") == "true":
        yield "tiered"
    retention = items.get("configs.retention.ms")
    if retention is not None:
        yield f"for-{_quantity(retention, _UNITS)}" if retention != "-1" else "for-ever"
    size = items.get("configs.retention.bytes")
    if size is not None and size != "-1":
        yield f"up-to-{_quantity(size, _BYTES)}"
    if not NAMING.intersection(items) and "configs.compression.type" in items:
        yield items["configs.compression.type"]


def _further_parts(items: dict[str, str]) -> Iterable[str]:
    """Words that tell profiles apart which are alike in the most telling ones."""
    local = items.get("configs.local.retention.ms")
    if local is not None and int(local) > 0:
        yield f"local-{_quantity(local, _UNITS)}"
    largest = items.get("configs.max.message.bytes")
    if largest is not None:
        yield f"messages-{_quantity(largest, _BYTES)}"
    if "configs.compression.type" in items:
        yield items["configs.compression.type"]


def _quantity(text: str, units: tuple[tuple[int, str], ...]) -> str:
    """``604800000`` as ``7d``."""
    number = int(text)
    for size, unit in units:
        if number and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)
