"""What every kind of cluster offers, and nothing else is asked of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kgitops.model.cluster_state import Capabilities, ClusterState, GroupOffsets, Usage
from kgitops.model.errors import LockedError
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One message: ``value`` None is a deletion; ``timestamp_ms`` is given by the log itself.

    ``problem`` says why the message can't be read, where it can't; there is no value then. A key
    that is not UTF-8 has its odd bytes as lone surrogates.
    """

    offset: int
    key: str
    value: Mapping[str, Json] | None
    timestamp_ms: int
    problem: str | None = None


def lease_ended_error(change: str, done: str) -> LockedError:
    """Build the error for a change that was not ``done`` because the lock's lease had ended."""
    return LockedError(
        f"the lock's lease ended before {change} was {done}, so it was not {done}; run `kgitops "
        "apply --resume` or make a new plan"
    )


class RegistryLog(Protocol):
    """The compacted log that keeps ownership, locks, runs and nonces on the cluster itself."""

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Every entry at or after offset ``since``, to the end; None when there is no registry.

        Raises:
            SafetyError: the registry exists and can't be read to its end, or is no registry.
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """As ``read``, and entries that can't be read are among them; also without a meta record.

        Raises:
            SafetyError: the registry can't be read to its end, or records of it were lost.
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def append(self, entries: Sequence[tuple[str, Mapping[str, Json] | None]]) -> int:
        """Write all entries or none, durably, creating the registry first; the last offset.

        Raises:
            LockedError: the log is held by someone else.
            UnreachableError: the log can't be written.
        """
        ...

    def fence(self) -> None:
        """Be the log's only writer from now on: an earlier writer's next append raises LockedError.

        Until then an append is one contender's among others: only claims are written so.

        Raises:
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def unfence(self) -> None:
        """Be one contender among others again; nobody else is affected."""
        ...

    def now_ms(self) -> int:
        """The log's clock: what the next entry's timestamp would be, in milliseconds."""
        ...


class Cluster(Protocol):
    """A cluster that can be read and asked to change."""

    @property
    def capabilities(self) -> Capabilities:
        """What this cluster can carry out and check."""
        ...

    @property
    def registry(self) -> RegistryLog:
        """The registry kept on this cluster."""
        ...

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """The cluster now. ``topics`` narrows which topics are read; None reads all.

        ``topics`` are physical names; those that ``links`` lead to are read beside them.

        Raises:
            UnreachableError: the cluster can't be read, so nothing may be concluded.
            SafetyError: the registry can't be trusted.
        """
        ...

    def read_usage(self, topics: frozenset[str], *, offsets_only: bool = False) -> Usage:
        """What these topics hold and who reads them; one that does not exist is left out.

        It is asked only of topics where it matters, for on a real cluster it costs as much as all
        the rest (docs/decisions/0010). What can't be told is None, and why is said beside it.

        Raises:
            UnreachableError: nothing of it can be read.
        """
        ...

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """What these groups have committed, by physical group id; one without any is left out.

        Raises:
            UnreachableError: it can't be read.
        """
        ...

    def execute(
        self,
        requests: Sequence[Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Carry out one wire batch: requests of one api, one result each, in order.

        A failure of one does not hide the others (A4-05). With ``validate_only`` the cluster
        judges and changes nothing. ``until_ms`` is the end of the lock's lease by the registry's
        clock, for who holds it: nothing that changes the cluster is sent later, however long
        anything before the sending took.

        Raises:
            LockedError: the lease has ended, so at least one request was not sent.
            UnreachableError: no answer; what happened is unknown and must be looked up.
        """
        ...

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel the reassignments of these partitions, by topic; the replicas stay as they were.

        What is no longer on the move is left as it is. ``until_ms`` is as in :meth:`execute`.

        Raises:
            KgitopsError: the cluster refuses, or does not answer.
        """
        ...

    def close(self) -> None:
        """Release what the connection holds."""
        ...


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a change, and when, in milliseconds since 1970."""

    principal: str
    timestamp_ms: int


Authors = Mapping[tuple[str, str], Author]
"""(address, field) to who last wrote it; the field "" stands for the object as a whole."""


@runtime_checkable
class KeepsAuthors(Protocol):
    """A cluster that can tell who changed what."""

    def read_authors(self) -> Authors:
        """Who last wrote each field of each object.

        Raises:
            UnreachableError: the record can't be read.
        """
        ...


def author_of(authors: Authors, address: str, path: str) -> Author | None:
    """Who last wrote the field, or else the object as a whole."""
    return authors.get((address, path)) or authors.get((address, ""))
