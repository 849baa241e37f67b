"""What describes an object: its fields, each with its type, its words and its reading."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kgitops.policy.api.cluster_state import ClusterState
from kgitops.policy.cel.types import Type, record


@dataclass(frozen=True, eq=False)
class Field:
    """A field: its type, what it is, and how it is read from the object on a cluster."""

    type: Type
    doc: str
    read: Callable[[Any, ClusterState], object]


@dataclass(frozen=True, eq=False)
class Record:
    """An object; ``name`` is what sentences call one."""

    name: str
    fields: Mapping[str, Field]

    @property
    def type(self) -> Type:
        """Its type."""
        return record(self.name, {name: field.type for name, field in self.fields.items()})
