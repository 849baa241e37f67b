"""The two clusters that are compared: three brokers each, and Alice, who has no rights at first."""

from pathlib import Path

from cluster.kafka.difference_world import ALICE, Clusters
from kafka.protocol.admin import DescribeAclsRequest
from kafka.protocol.metadata import MetadataRequest
from patience import eventually

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.kafka.adapter import boot
from kgitops.model.resources.acls import AclBinding
from kgitops.sandbox.sandbox import Sandbox

_ANY = 1  # of ACLs' types
_EMBEDDED = (
    "embedded:?brokers=3&compat=kraft&authorizer=acls&superUsers=User:admin&virtual.clusters=0"
)


class RealClusters(Clusters):
    """A sandbox with SASL, whose users need rights."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._alive = set(sandbox.broker_ids)
        alice = {"sasl.username": "alice", "sasl.password": "alice-secret"}
        self.admin = boot(sandbox.servers, sandbox.configs, Path())
        self.alice = boot(sandbox.servers, {**sandbox.configs, **alice}, Path())
        self._wire = self.admin.wire

    def kill(self, broker: int) -> None:
        self._sandbox.kill(broker)
        self._alive.remove(broker)
        eventually(
            lambda: {id_: self._seen_by(id_) for id_ in self._alive},
            lambda seen: all(ids == self._alive for ids in seen.values()),
            what=f"no broker sees broker {broker}",
        )

    def await_acls(self, acls: frozenset[AclBinding]) -> None:
        eventually(
            lambda: {id_: self._acls_on(id_) for id_ in self._alive},
            lambda seen: set(seen.values()) == {len(acls)},
            what=f"every broker has {len(acls)} ACLs",
        )

    def close(self) -> None:
        self.admin.close()
        self.alice.close()

    def _seen_by(self, broker: int) -> set[int]:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        return {item.node_id for item in self._wire.send(request, to=broker).brokers}

    def _acls_on(self, broker: int) -> int:
        request = DescribeAclsRequest(
            resource_type_filter=_ANY,
            resource_name_filter=None,
            pattern_type_filter=_ANY,
            principal_filter=ALICE,
            host_filter=None,
            operation=_ANY,
            permission_type=_ANY,
            min_version=3,
        )
        answer = self._wire.send(request, to=broker)
        return sum(len(resource.acls) for resource in answer.resources)


class EmbeddedClusters(Clusters):
    """The embedded cluster, which knows principals from the requests."""

    def __init__(self) -> None:
        cluster = connect(_EMBEDDED, base=Path())
        assert isinstance(cluster, EmbeddedCluster)
        self.admin = self.alice = self._cluster = cluster

    def kill(self, broker: int) -> None:
        self._cluster.fence(broker)

    def await_acls(self, acls: frozenset[AclBinding]) -> None:
        """They hold at once."""

    def close(self) -> None:
        self._cluster.close()
