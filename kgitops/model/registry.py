"""The registry on a cluster: the owner of each object, and the declaration last applied."""

from collections.abc import Collection, Mapping, Sequence
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


class RecordedRun(Struct, frozen=True, kw_only=True):
    """Summarize an apply: whose it was, when it began, and who ran it."""

    project: str
    started: str
    holder: str
    unfinished: bool = False


class TakeoverRecord(Struct, frozen=True, kw_only=True):
    """Objects of ``project`` that the run ``run`` of the project ``by`` took over.

    ``objects`` are the addresses, as far as they fit into one record; ``name`` and ``holder`` are
    the taking project's name and the user who ran it.
    """

    project: str
    by: str
    name: str
    run: str
    at: str
    holder: str
    objects: tuple[str, ...]


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
    releases: Mapping[str, str] = field(default_factory=dict)
    """Project identity to the one identity that it lets take over its objects."""
    runs: Mapping[str, RecordedRun] = field(default_factory=dict)
    """Run id to its summary: each project's unfinished runs, and its newest other one."""
    takeovers: Mapping[str, TakeoverRecord] = field(default_factory=dict)
    """The records below ``takeover/`` by the rest of their key, until the loser applied again."""

    def identities_of(self, identity: str) -> frozenset[str]:
        """Return the identity and the former identities that the registry remembers for it."""
        return frozenset({identity, *self.formerly.get(identity, ())} - {DEFAULT_PROJECT})

    def runs_of(self, identities: Collection[str]) -> Sequence[tuple[str, RecordedRun]]:
        """Return the known runs of these identities with their ids, the oldest first."""
        runs = [(run, it) for run, it in self.runs.items() if it.project in identities]
        return sorted(runs, key=lambda item: (item[1].started, item[0]))
