"""The interface of every kind of cluster."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from kgitops.model.cluster_state import Capabilities, ClusterState, FoundObject, GroupOffsets, Usage
from kgitops.model.errors import LockedError
from kgitops.model.registry import Json
from kgitops.model.requests import Request
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.users import ScramMechanism
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import RequestResult
from kgitops.model.wording import resume_command


class RegistryEntry(Struct, frozen=True, kw_only=True):
    """One message; ``value`` None is a deletion, and the log itself sets ``timestamp_ms``.

    ``problem`` is the reason why the message can't be read; it then has no value. The invalid bytes
    of a key that is not UTF-8 are lone surrogates.
    """

    offset: int
    key: str
    value: Mapping[str, Json] | None
    timestamp_ms: int
    problem: str | None = None


def lease_ended_error(change: str, done: str) -> LockedError:
    """Build the error for a change that was not ``done`` because the lock's lease had ended."""
    return LockedError(
        f"the lock's lease expired before {change} was {done}, so nothing was {done}; run "
        f"`{resume_command()}` or make a new plan"
    )


class RegistryLog(Protocol):
    """The compacted log that keeps ownership, locks, runs and nonces on the cluster itself."""

    def read(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """Read every entry from offset ``since`` to the end; None when there is no registry.

        Raises:
            SafetyError: the registry can't be read to its end, or is not a registry.
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def scan(self, since: int = 0) -> Sequence[RegistryEntry] | None:
        """As ``read``, including unreadable entries; a meta record is not required.

        Raises:
            SafetyError: the registry can't be read to its end, or records of it were lost.
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def append(self, entries: Sequence[tuple[str, Mapping[str, Json] | None]]) -> int:
        """Write all entries or none, durably, creating the registry first; return the last offset.

        Raises:
            LockedError: another process holds the log.
            UnreachableError: the log can't be written.
        """
        ...

    def fence(self) -> None:
        """Become the log's only writer: an earlier writer's next append raises LockedError.

        Before that, this is one contender among others, which may only write claims.

        Raises:
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def unfence(self) -> None:
        """Become one contender among others again; no other process is affected."""
        ...

    def topic_id(self) -> str | None:
        """Return the id of the log that was read or written last; None when there is no registry.

        Raises:
            UnreachableError: the cluster can't be reached or refuses.
        """
        ...

    def now_ms(self) -> int:
        """Return the log's time: the timestamp the next entry would get, in milliseconds."""
        ...


class Cluster(Protocol):
    """A cluster that can be read and changed."""

    @property
    def cluster_id(self) -> str:
        """The id that the cluster has, known since it was opened; empty where it reports none."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """The requests that this cluster supports and can validate."""
        ...

    @property
    def registry(self) -> RegistryLog:
        """The registry kept on this cluster."""
        ...

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """Read the cluster. ``topics`` narrows which topics are read; None reads all.

        ``topics`` are physical names; the targets of ``links`` are read as well.

        Raises:
            UnreachableError: the cluster can't be read, so nothing may be concluded.
            SafetyError: the registry can't be trusted.
        """
        ...

    def read_usage(
        self, topics: frozenset[str], *, offsets_only: bool = False, groups: bool = True
    ) -> Usage:
        """Read how these topics are used; a topic that does not exist is left out.

        Without ``groups`` their active groups are not read; with ``offsets_only`` sizes aren't
        either.

        Usage is read only of topics where it matters, because on a real cluster it costs as much as
        everything else (docs/decisions/0010). Unknown values are None, with the reason.

        Raises:
            UnreachableError: none of it can be read.
        """
        ...

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Read the committed offsets by physical group id; a group without any is left out.

        Raises:
            UnreachableError: they can't be read.
        """
        ...

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        """Read users, groups or config resources by name, or all; what is not there is left out.

        Of users Kafka tells mechanisms and iterations, and nothing of a password. A resource is
        there if it sets configs itself, a group also if it has members or offsets; all groups are
        those with configs, and Kafka before 4.1 lists none that has nothing else. Configs of
        brokers are the dynamic ones, without passwords.

        Raises:
            UnreachableError: they can't be read, or can't be listed.
        """
        ...

    def read_config_types(
        self, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        """Read the types of those of these configs that the brokers know.

        ``name`` is a resource of this type, or without ``kind`` a topic, which has to exist.

        Raises:
            UnreachableError: they can't be read.
        """
        ...

    def matches_host_ranges(self) -> bool:
        """Return whether brokers match the hosts of ACLs as ranges (KIP-1276), if they can be.

        Raises:
            UnreachableError: they can't be asked.
        """
        ...

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Read each partition's first offset of that time or later; without one it is left out.

        Raises:
            UnreachableError: they can't be read.
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

        A failure of one request does not hide the others (A4-05). With ``validate_only`` the
        cluster only validates. ``until_ms`` is the end of the lock's lease by the registry's clock,
        for the holder of the lock: no change is sent later, however long the steps before the
        sending took.

        Raises:
            LockedError: the lease has ended, so at least one request was not sent.
            UnreachableError: no answer; the outcome is unknown and must be looked up.
        """
        ...

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel the reassignments of these partitions, by topic; the replicas stay as they were.

        A partition that no longer moves is left as it is. ``until_ms`` is as in :meth:`execute`.

        Raises:
            KgitopsError: the cluster refuses, or does not answer.
        """
        ...

    def close(self) -> None:
        """Close the connection and release its resources."""
        ...


class Author(Struct, frozen=True):
    """The principal of a change, and its time in milliseconds since 1970."""

    principal: str
    timestamp_ms: int


@runtime_checkable
class ChecksLogins(Protocol):
    """A cluster at which the login of a user can be tried."""

    def offers_login(self, mechanism: ScramMechanism) -> bool:
        """Return whether clients may log in by the mechanism where kgitops connects."""
        ...

    def logs_in(self, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
        """Log in once, and tell if the cluster takes the password; nothing else is asked for.

        Raises:
            UnreachableError: no server answers.
        """
        ...


Authors = Mapping[tuple[str, str], Author]
"""Last author by (address, field); the field "" stands for the object as a whole."""


@runtime_checkable
class RecordsAuthors(Protocol):
    """A cluster that records the author of each change. Apache Kafka records none."""

    def read_authors(self) -> Authors:
        """Read the last author of each field of each object.

        Raises:
            UnreachableError: the record can't be read.
        """
        ...


def author_of(authors: Authors, address: str, path: str) -> Author | None:
    """Return the last author of the field, or else of the object as a whole."""
    return authors.get((address, path)) or authors.get((address, ""))
