"""Compares two states object by object, and their objects value by value."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import count

from msgspec import Struct

from kgitops.model.errors import UsageError
from kgitops.model.json.layout import json_line
from kgitops.model.registry import Json

_RECORDED = (
    ("owner", "last_applied"),
    ("ownership", "before", "last_applied"),
    ("ownership", "after", "last_applied"),
)
"""Declarations in the registry: what the object itself says, too, is not shown twice."""
_KEYS = ("address", "name", "object", "policy", "group", "api", "topic")
"""The fields by which a row of a list is known."""

_NUMBER = re.compile(r"[0-9]{1,10}")

Path = tuple[str, ...]
Leaves = Mapping[Path, Json]
"""The values of an object by the keys down to them; a shown path has dots between these."""


class StateKind(StrEnum):
    """The kinds of states that can be compared with another of the same kind."""

    SNAPSHOT = "snapshot"
    PLAN = "plan"
    FLEET_RUN = "fleet run"


class Presence(StrEnum):
    """The fate of an object from the old state to the new one."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class ComparedState(Struct, frozen=True, kw_only=True):
    """A state as objects by address, each a mapping of nested values; ``name`` is its file.

    Objects whose addresses begin with one of ``unread`` were not read: nothing is known of them.
    """

    kind: StateKind
    name: str
    objects: Mapping[str, Json]
    unread: tuple[str, ...] = ()


class ValueDifference(Struct, frozen=True, kw_only=True):
    """A value in which an object differs; an empty tuple stands for none, as JSON has a null."""

    path: str
    old: Json | tuple[()]
    new: Json | tuple[()]


class ObjectDifference(Struct, frozen=True, kw_only=True):
    """An object that one of the states lacks, or that has other values."""

    address: str
    presence: Presence
    values: tuple[ValueDifference, ...]


class Comparison(Struct, frozen=True, kw_only=True):
    """Two states of one kind, what differs by address, and how many objects are the same."""

    kind: StateKind
    old: str
    new: str
    objects: tuple[ObjectDifference, ...]
    same: int

    def count(self, presence: Presence) -> int:
        """The number of objects that were added, removed or changed."""
        return sum(item.presence is presence for item in self.objects)


def compare(old: ComparedState, new: ComparedState) -> Comparison:
    """Compare two states.

    Raises:
        UsageError: they are of different kinds.
    """
    if old.kind is not new.kind:
        raise UsageError(
            f"{old.name} is a {old.kind} and {new.name} a {new.kind}; compare two of one kind"
        )
    unread = (*old.unread, *new.unread)
    before, after = _without(unread, old.objects), _without(unread, new.objects)
    found = tuple(_differences(before, after))
    addresses = before.keys() | after.keys()
    same = len(addresses) - len(found)
    return Comparison(kind=old.kind, old=old.name, new=new.name, objects=found, same=same)


def _without(prefixes: tuple[str, ...], objects: Mapping[str, Json]) -> Mapping[str, Json]:
    return {key: item for key, item in objects.items() if not key.startswith(prefixes)}


def by_partition(topic: Json, key: str) -> Json:
    """A topic whose replica lists are one value a partition, with the number of partitions."""
    if not isinstance(topic, dict) or not isinstance(topic.get(key), list):
        return topic
    lists = {str(partition): replicas for partition, replicas in enumerate(topic[key])}
    return {**topic, "partitions": len(lists), key: lists}


def _differences(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[ObjectDifference]:
    for address in sorted(old.keys() | new.keys()):
        if address not in old:
            presence = Presence.ADDED
        elif address not in new:
            presence = Presence.REMOVED
        elif old[address] == new[address]:
            continue
        else:
            presence = Presence.CHANGED
        values = _values(dict(_leaves(old.get(address))), dict(_leaves(new.get(address))))
        if values or presence is not Presence.CHANGED:  # else rows are only in another order
            yield ObjectDifference(address=address, presence=presence, values=tuple(values))


def _values(old: Leaves, new: Leaves) -> list[ValueDifference]:
    found = [
        path
        for path in sorted(old.keys() | new.keys(), key=_in_order)
        if (path not in old or path not in new or old[path] != new[path])
        and not _is_filled(path, old, new)
        and not _is_filled(path, new, old)
    ]
    others = [path for path in found if path[0] != "requests"]  # these follow from the others
    own = [path for path in others if not _declared(path)]
    return [
        ValueDifference(path=".".join(path), old=old.get(path, ()), new=new.get(path, ()))
        for path in [path for path in others if not _ends_one(_declared(path), own)] or found
    ]


def _declared(path: Path) -> Path:
    """The path inside a record's declaration: ``configs.retention.ms``; empty for all others."""
    return next((path[len(it) :] for it in _RECORDED if path[: len(it)] == it), ())


def _ends_one(end: Path, paths: list[Path]) -> bool:
    return bool(end) and any(path[-len(end) :] == end for path in paths)


def _is_filled(path: Path, one: Leaves, other: Leaves) -> bool:
    """True if what is empty in one state has values in the other, which say it all."""
    if one.get(path, ()) not in ({}, []) or path in other:
        return False
    return any(inner[: len(path)] == path for inner in other)


def _in_order(path: Path) -> tuple[tuple[int, int, str], ...]:
    """Sorts paths as people count: partition 2 before 10."""
    return tuple((0, int(step), step) if _NUMBER.fullmatch(step) else (1, 0, step) for step in path)


def _leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The values below a value; rows of a list by their name, lists of plain values as one."""
    if isinstance(value, dict) and (value or not path):
        rows = value.items()
    elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        rows = _named(value).items()
    else:
        if value is not None or path:
            yield path, value
        return
    for key, inner in rows:
        yield from _leaves(inner, (*path, key))


def _named(rows: list[Json]) -> dict[str, Json]:
    """Rows by what they are about, and by their number where that is not one row alone."""
    named: dict[str, Json] = {}
    for row in rows:
        found = [str(row[key]) for key in _KEYS if isinstance(row.get(key), str)]
        name = " ".join(found) or json_line(row)
        numbered = (f"{name}#{number}" for number in count(2))
        named[name if name not in named else next(n for n in numbered if n not in named)] = row
    return named
