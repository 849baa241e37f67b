"""Name tables from the log of a registry, read on from where the last reading ended."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from kgitops.cluster.port import Cluster, RegistryEntry
from kgitops.cluster.registry import build_registry_state
from kgitops.gateway.naming.building import build_name_tables
from kgitops.gateway.naming.name_table import NameTables
from kgitops.lowering.records import PREFIX
from kgitops.model.cluster_state import VirtualClusterSupport
from kgitops.model.errors import SafetyError, UsageError
from kgitops.model.registry import META_KEY, RegistryState
from kgitops.model.resources.names import REGISTRY_TOPIC


class RegistryConnection(Protocol):
    """A connection to the cluster that has the registry."""

    def topic_id(self) -> str | None:
        """The id of the registry's topic as last found; None where there is none.

        Raises:
            KgitopsError: it can't be found out.
        """
        ...

    def read(self, since: int) -> Sequence[RegistryEntry] | None:
        """Every committed entry from that offset to the end; None where there is no registry.

        Raises:
            KgitopsError: it can't be read to its end, or can't be trusted.
        """
        ...

    def close(self) -> None: ...


def read_name_tables(cluster: Cluster) -> NameTables:
    """The name tables of a cluster at this moment.

    Raises:
        UsageError: its brokers know virtual clusters, so there are no physical names.
        SafetyError: there is no registry, or it can't be trusted.
        UnreachableError: the cluster can't be reached or refuses.
    """
    if cluster.capabilities.virtual_clusters is not VirtualClusterSupport.LOWERED:
        raise UsageError(
            "the brokers of this cluster know virtual clusters themselves, or not at all; clients "
            "use local names there, and nothing is to be translated"
        )
    entries = cluster.registry.read()
    if entries is None:
        raise _absent()
    state = build_registry_state(entries, topic_id="")
    return build_name_tables(state.virtual_clusters, state.offset)


class RegistryTables:
    """Name tables of one registry, up to where it was read; an error leaves them as they were."""

    def __init__(self) -> None:
        self.tables: NameTables | None = None
        self._state: RegistryState | None = None

    @property
    def offset(self) -> int:
        """The offset of the last entry that was read; -1 before the first reading."""
        return self._state.offset if self._state else -1

    def read(self, source: RegistryConnection, *, whole: bool = False) -> NameTables:
        """Read on and return the tables, the same ones if no name and no member changed.

        With ``whole`` everything is read again, since removals are not kept in the log forever.

        Raises:
            SafetyError: there is no registry, it is another one than before, or it can't be
                trusted.
            UnreachableError: the cluster can't be reached or refuses.
        """
        known = self._state
        topic_id = self._check_topic(source)
        entries = source.read(known.offset + 1 if known else 0)
        if known is not None and entries is not None and whole:
            known, entries = None, source.read(0)
        if entries is None or self._check_topic(source) != topic_id:
            raise _absent()
        if known is None or entries:
            named = [e for e in entries if e.key.startswith(PREFIX) or e.key == META_KEY]
            state = build_registry_state(named, topic_id, before=known)
            state = replace(state, offset=max((e.offset for e in entries), default=self.offset))
            self.tables = build_name_tables(state.virtual_clusters, state.offset, self.tables)
            self._state = state
        if self.tables is None:
            raise _absent()
        return self.tables

    def _check_topic(self, source: RegistryConnection) -> str:
        """The id of the topic, which is the one of the first reading."""
        topic_id = source.topic_id()
        if topic_id is None:
            raise _absent()
        if self._state is not None and topic_id != self._state.topic_id:
            raise SafetyError(
                f"the registry {REGISTRY_TOPIC} was deleted and made again, so who is a member of "
                "which virtual cluster may be lost; restore the registry, or start the gateway "
                "again if what it says now is right"
            )
        return topic_id


def _absent() -> SafetyError:
    return SafetyError(
        f"the cluster has no registry {REGISTRY_TOPIC}, so nothing says which clients are in a "
        "virtual cluster; apply a project with virtual clusters first"
    )
