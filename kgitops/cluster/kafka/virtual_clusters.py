"""The cluster port on brokers that know virtual clusters: KIP-1134's requests, experimental."""

from collections.abc import Sequence

from msgspec.structs import replace

from kgitops.cluster.kafka.adapter import KafkaCluster
from kgitops.cluster.kafka.read.virtual_clusters import read_virtual_clusters, with_virtual_clusters
from kgitops.cluster.kafka.registry.log import KafkaRegistryLog
from kgitops.cluster.kafka.write.virtual_clusters import change_virtual_cluster
from kgitops.cluster.wrapping import WrappedCluster
from kgitops.model import requests as req
from kgitops.model.cluster_state import Capabilities, ClusterState, Validator, VirtualClusterSupport
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


class VirtualClusterBrokers(WrappedCluster[KafkaCluster]):
    """Implements :class:`kgitops.cluster.port.Cluster` by KIP-1134's requests and Kafka's own."""

    @property
    def capabilities(self) -> Capabilities:
        """Those of Kafka, and virtual clusters, which the brokers themselves check."""
        own = self.physical.capabilities
        return replace(
            own,
            validation={**own.validation, **_VALIDATION},
            virtual_clusters=VirtualClusterSupport.NATIVE,
        )

    @property
    def registry(self) -> KafkaRegistryLog:
        """The registry topic."""
        return self.physical.registry

    def read_state(
        self, topics: frozenset[str] | None = None, links: frozenset[LocalName] = frozenset()
    ) -> ClusterState:
        """Read the cluster, its virtual clusters, and the topics that ``links`` lead to."""
        found = read_virtual_clusters(self.physical.wire)
        linked = {
            LocalName(name, link.name): link.topic
            for name, virtual_cluster in found.items()
            for link in virtual_cluster.links.values()
        }
        if topics is None:
            state = self.physical.read_state()
            # A list of all topics omits those that the principal may not describe.
            unseen = frozenset(linked.values()) - state.topics.keys()
            late = self.physical.read_state(unseen).topics if unseen else {}
            return with_virtual_clusters(replace(state, topics={**state.topics, **late}), found)
        # Every link has the id of its topic, also where that topic is not asked for.
        state = self.physical.read_state(topics.union(linked.values()))
        wanted = topics.union(linked[local] for local in links if local in linked)
        read = with_virtual_clusters(state, found)
        selected = {name: topic for name, topic in read.topics.items() if name in wanted}
        return replace(read, topics=selected)

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

    def _execute(
        self, request: req.Request, principal: str, *, validate_only: bool, until_ms: int | None
    ) -> RequestResult:
        match request:
            case (
                req.CreateVirtualClusterRequest()
                | req.AlterVirtualClusterRequest()
                | req.DeleteVirtualClusterRequest()
            ):
                wire = self.physical.wire_until(until_ms)
                return change_virtual_cluster(wire, request, validate_only=validate_only)
            case req.AclRequest(binding=binding) if binding.scoped:
                return _NO_SCOPED_ACL
            case req.AclRequest() if validate_only:
                return OK
            case _:
                (result,) = self.physical.execute(
                    [request], validate_only=validate_only, principal=principal, until_ms=until_ms
                )
                return result
