"""The registry on a cluster: the owner of each object, and the declaration last applied."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

Json = Any
"""A JSON value that canonical JSON can represent."""

SCHEMA_VERSION = 2
"""The version of every record that is written."""
SCHEMA_VERSIONS = range(1, SCHEMA_VERSION + 1)
"""The versions that are read."""
DEFAULT_PROJECT = "default"
COMMAND_PROJECT = "<command>"
"""The owner of a single change made by a command; it manages no object afterwards."""
META_KEY = "meta"
IMPORTING = "importing"
"""The field of ``meta`` while an import writes: the digest of its file."""


class Owner(Struct, frozen=True, kw_only=True):
    """An ``own/<address>`` record: the object's project and what it last applied.

    ``project`` is the project's identity (its uid, else its name). ``last_applied`` is the full
    normal form, deletionPolicy included. An object that a Tombstone deleted keeps its record, with
    ``spent`` true and the topic id it had, so that the Tombstone never acts again.
    """

    project: str
    topic_id: str | None = None
    adopted: bool = False
    spent: bool = False
    last_applied: Mapping[str, Json]


class RegistryState(Struct, frozen=True, kw_only=True):
    """The registry as read to its end: the topic that holds it, and the offset of that end."""

    topic_id: str
    offset: int
    projects: Mapping[str, str] = field(default_factory=dict)
    """Project identity to the name it was last applied under."""
    formerly: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Project identity to its earlier identities, as known when it was last applied."""
    owners: Mapping[str, Owner] = field(default_factory=dict)
    """Address to owner, spent tombstones included."""
    virtual_clusters: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """The records below ``vcs/`` by the rest of their key, on a Kafka without virtual clusters."""
    schema_version: int = SCHEMA_VERSION
    """The version of ``meta``, which an older kgitops refuses where it is newer than its own."""
