"""The cluster port on brokers that know virtual clusters: KIP-1134's requests, experimental."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.read.virtual_clusters import read_virtual_clusters, with_virtual_clusters
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.write.virtual_clusters import change_virtual_cluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import (
    Capabilities,
    ClusterState,
    GroupOffsets,
    Usage,
    Validator,
    VirtualClusterSupport,
)
from kgitops.model.resources.config_resources import ClientMetricsState
from kgitops.model.resources.groups import FoundGroup
from kgitops.model.resources.secrets import Secret
from kgitops.model.resources.users import ScramIterations, ScramMechanism
from kgitops.model.resources.virtual_clusters import LocalName
from kgitops.model.results import OK, ErrorCode, RequestResult

_VALIDATION = {
    "CreateVirtualCluster": Validator.BROKER,
    "AlterVirtualCluster": Validator.BROKER,
    "DeleteVirtualCluster": Validator.BROKER,
    # An ACL of a virtual cluster can't be sent, which is told before anything is changed.
    "CreateAcl": Validator.BROKER,
}
_NO_SCOPED_ACL = RequestResult(
    code=ErrorCode.INVALID_REQUEST,
    message="Kafka's protocol has no ACLs of virtual clusters; change them in the store itself, "
    "with -c embedded:FILE while it is not served",
)


class VirtualClusterBrokers:
    """Implements :class:`kgitops.cluster.port.Cluster` by KIP-1134's requests and Kafka's own."""

    def __init__(self, physical: KafkaCluster) -> None:
        self._physical = physical

    @property
    def capabilities(self) -> Capabilities:
        """Those of Kafka, and virtual clusters, which the brokers themselves check."""
        own = self._physical.capabilities
        return replace(
            own,
            validation={**own.validation, **_VALIDATION},
            virtual_clusters=VirtualClusterSupport.NATIVE,
        )

    @property
    def registry(self) -> KafkaRegistryLog:
        """The registry topic."""
        return self._physical.registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """Read the cluster, its virtual clusters, and the topics that ``links`` lead to."""
        found = read_virtual_clusters(self._physical.wire)
        if topics is None:
            return with_virtual_clusters(self._physical.read_state(), found)
        linked = {
            LocalName(name, link.name): link.topic
            for name, virtual_cluster in found.items()
            for link in virtual_cluster.links.values()
        }
        # Every link has the id of its topic, also where that topic is not asked for.
        state = self._physical.read_state(topics.union(linked.values()))
        wanted = topics.union(linked[local] for local in links if local in linked)
        read = with_virtual_clusters(state, found)
        selected = {name: topic for name, topic in read.topics.items() if name in wanted}
        return replace(read, topics=selected)

    def read_usage(self, topics: frozenset[str], *, offsets_only: bool = False) -> Usage:
        """Read the usage of these physical topics."""
        return self._physical.read_usage(topics, offsets_only=offsets_only)

    def read_group_offsets(self, groups: frozenset[str]) -> Mapping[str, GroupOffsets]:
        """Read the committed offsets of these physical groups."""
        return self._physical.read_group_offsets(groups)

    def read_users(self, users: frozenset[str] | None = None) -> Mapping[str, ScramIterations]:
        """Read the credentials of users, who are known to the whole cluster."""
        return self._physical.read_users(users)

    def read_groups(self, groups: frozenset[str]) -> Mapping[str, FoundGroup]:
        """Read these physical groups."""
        return self._physical.read_groups(groups)

    def read_client_metrics(self, names: frozenset[str]) -> Mapping[str, ClientMetricsState]:
        """Read the subscriptions to clients' metrics."""
        return self._physical.read_client_metrics(names)

    def read_offsets_since(self, topics: frozenset[str], timestamp_ms: int) -> GroupOffsets:
        """Read the offsets of physical topics by time."""
        return self._physical.read_offsets_since(topics, timestamp_ms)

    def offers_login(self, mechanism: ScramMechanism) -> bool:
        """True if the listener asks for logins."""
        return self._physical.offers_login(mechanism)

    def logs_in(self, user: str, mechanism: ScramMechanism, secret: Secret) -> bool:
        """Log in once by a connection of its own."""
        return self._physical.logs_in(user, mechanism, secret)

    def execute(
        self,
        requests: Sequence[req.Request],
        *,
        validate_only: bool,
        principal: str,
        until_ms: int | None = None,
    ) -> Sequence[RequestResult]:
        """Carry out one batch; brokers know the principal from the connection."""
        return [
            self._execute(request, principal, validate_only=validate_only, until_ms=until_ms)
            for request in requests
        ]

    def cancel_moves(
        self, moves: Mapping[str, Sequence[int]], *, until_ms: int | None = None
    ) -> None:
        """Cancel the reassignments of physical partitions."""
        self._physical.cancel_moves(moves, until_ms=until_ms)

    def close(self) -> None:
        """Close every connection."""
        self._physical.close()

    def _execute(
        self, request: req.Request, principal: str, *, validate_only: bool, until_ms: int | None
    ) -> RequestResult:
        match request:
            case (
                req.CreateVirtualClusterRequest()
                | req.AlterVirtualClusterRequest()
                | req.DeleteVirtualClusterRequest()
            ):
                wire = self._physical.wire_until(until_ms)
                return change_virtual_cluster(wire, request, validate_only=validate_only)
            case req.AclRequest(binding=binding) if binding.scoped:
                return _NO_SCOPED_ACL
            case req.AclRequest() if validate_only:
                return OK
            case _:
                (result,) = self._physical.execute(
                    [request], validate_only=validate_only, principal=principal, until_ms=until_ms
                )
                return result
