"""The description of an object by its fields, and the differences between two objects."""

import re
from collections.abc import Callable, Mapping, Set
from enum import Enum
from typing import Any

from msgspec import Struct

from kgitops.model.resources.topic_configs import normal_value
from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.types import Type, map_of, record

Read = Callable[[Any, ClusterState], object]
"""Reads a field from an object, or from the cluster."""


class RecordField(Struct, frozen=True, eq=False):
    """A field: its type and its documentation; ``read``, if it is no attribute of its own name."""

    type: Type
    doc: str
    read: Read | None = None


class Record(Struct, frozen=True, eq=False):
    """The description of a kind of object; ``name`` is the one that sentences use."""

    name: str
    fields: Mapping[str, RecordField]

    @property
    def type(self) -> Type:
        """Its type."""
        return record(self.name, {name: field.type for name, field in self.fields.items()})

    def reader(self, name: str) -> Read:
        """The function that reads a field: ``virtualCluster`` is ``virtual_cluster``."""
        read = self.fields[name].read
        if read is not None:
            return read
        attribute = re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)
        return lambda value, _: _plain(getattr(value, attribute))


def _plain(value: object) -> object:
    """A value in the types that expressions know."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value) if isinstance(value, Set) else value


CHANGED = "What differs, by key, as `{before, after}`; null where the key is not set."


class BeforeAndAfter(Struct, frozen=True):
    """The object before and after a request, None where there is none; ``change`` is made of it."""

    before: Any
    after: Any


def changes(side: Type) -> Type:
    """The type of the differences by key; ``side`` is that of the values."""
    return map_of(record("a change", {"before": side.or_null, "after": side.or_null}))


def changed(name: str) -> Read:
    """Read the differences of a mapping of the object, which may be new."""

    def read(sides: BeforeAndAfter, _: ClusterState) -> object:
        before = {} if sides.before is None else getattr(sides.before, name)
        return differences(before, getattr(sides.after, name), lambda _, old, new: bool(old == new))

    return read


def changed_configs(sides: BeforeAndAfter, _: ClusterState) -> object:
    """The configs that differ; two spellings of one value do not differ."""
    before = sides.before.configs if sides.before is not None else {}
    after = sides.after.configs if sides.after is not None else {}
    return differences(before, after, _same_config)


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], same: Callable[[str, Any, Any], bool]
) -> dict[str, dict[str, object]]:
    """The differences by key, with both sides; ``same`` gets the key and the two values."""
    return {
        key: {"before": before.get(key), "after": after.get(key)}
        for key in {**before, **after}
        if not same(key, before.get(key), after.get(key))
    }


def _same_config(key: str, before: str | None, after: str | None) -> bool:
    if before is None or after is None:
        return before is after
    return before == after or normal_value(key, before) == normal_value(key, after)
