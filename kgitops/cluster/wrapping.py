"""A cluster around a physical one, which is asked for all that is the same on both."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from kgitops.cluster.port import Authors, ChecksLogins, Cluster, RecordsAuthors
from kgitops.model.cluster_state import FoundObject, GroupOffsets, Usage
from kgitops.model.resources.config_resources import ConfigResourceType
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.topic_configs import ConfigType
from kgitops.model.resources.users import ScramMechanism

Physical = TypeVar("Physical", bound=Cluster)


class WrappedCluster(Generic[Physical]):
    """The calls of :class:`kgitops.cluster.port.Cluster` that go to the physical one as they are.

    Topics and groups have their physical names; users are known to the whole cluster.
    """

    def __init__(self, physical: Physical) -> None:
        self.physical = physical

    @property
    def cluster_id(self) -> str:
        """The id of the physical cluster."""
        return self.physical.cluster_id

    def read_usage(
        self, topics: frozenset[str], *, offsets_only: bool = False, groups: bool = True
    ) -> Usage:
        return self.physical.read_usage(topics, offsets_only=offsets_only, groups=groups)

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Read the committed offsets of these groups."""
        return self.physical.read_group_offsets(groups)

    def read(self, kind: Kind, names: frozenset[str] | None = None) -> Sequence[FoundObject]:
        """Read users, groups or config resources."""
        return self.physical.read(kind, names)

    def read_config_types(
        self, kind: ConfigResourceType | None, name: str, keys: frozenset[str]
    ) -> Mapping[str, ConfigType]:
        """Read the types of configs that the brokers know."""
        return self.physical.read_config_types(kind, name, keys)

    def matches_host_ranges(self) -> bool:
        """True if the physical cluster does."""
        return self.physical.matches_host_ranges()

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Read the offsets of topics by time."""
        return self.physical.read_offsets_since(topics, timestamp_ms)

    def read_authors(self) -> Authors:
        """Read the authors that the physical cluster knows, which may be none.

        Objects of virtual clusters have other names there, and no author here.
        """
        physical: Cluster = self.physical
        return physical.read_authors() if isinstance(physical, RecordsAuthors) else {}

    def offers_login(self, mechanism: ScramMechanism) -> bool:
        """True if the physical cluster offers it."""
        physical: Cluster = self.physical
        return isinstance(physical, ChecksLogins) and physical.offers_login(mechanism)

    def logs_in(self, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
        """Log in once to the physical cluster."""
        physical: Cluster = self.physical
        return isinstance(physical, ChecksLogins) and physical.logs_in(user, mechanism, secret)

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel the reassignments of partitions."""
        self.physical.cancel_moves(moves, until_ms=until_ms)

    def close(self) -> None:
        """Close the physical cluster."""
        self.physical.close()
