"""What the registry on a cluster says: who owns what, and what they last applied."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
"""A JSON value: what canonical JSON can hold."""

SCHEMA_VERSION = 1
DEFAULT_PROJECT = "default"
COMMAND_PROJECT = "<command>"
"""Whose the one change is that a person asks for by a command: it manages nothing afterwards."""
META_KEY = "meta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """An ``own/<address>`` record: the object's project and what it last applied.

    ``project`` is the project's identity (its uid, else its name). ``last_applied`` is the full
    normal form, deletionPolicy included. An object that a Tombstone deleted leaves its mark with
    ``spent`` true and the topic id it had, so that the Tombstone never acts again.
    """

    project: str
    last_applied: Mapping[str, Json]
    topic_id: str | None = None
    adopted: bool = False
    spent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryState:
    """The registry as read to its end; ``topic_id`` and ``offset`` say which and how far."""

    topic_id: str
    offset: int
    projects: Mapping[str, str] = field(default_factory=dict)
    """Project identity to the name it was last applied under."""
    formerly: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Project identity to those that it had before, as they were known when it was applied."""
    owners: Mapping[str, Owner] = field(default_factory=dict)
    """Address to owner, spent tombstones included."""
    virtual_clusters: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """The records below ``vcs/`` by the rest of their key: virtual clusters on a Kafka without."""
