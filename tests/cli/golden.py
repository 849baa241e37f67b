"""The worked scenario of the specification (§24), as its commits and as a cluster before them."""

import shutil
from contextlib import closing
from pathlib import Path

from kgitops.cluster.connect import connect
from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.cluster.lowered.adapter import LoweredCluster
from kgitops.model.cluster_state import ClusterState
from kgitops.model.requests import CreateAclRequest, Request
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

SOURCE = Path(__file__).with_name("golden_project")
STREAM = "emea.eu.sales.SalesStream"
ADMIN = "User:kgitops"
OFFSETS = {(STREAM, partition): 10 + partition for partition in range(12)}


def _old(operation: Operation, kind: ResourceType, name: str, pattern: PatternType) -> AclBinding:
    return AclBinding(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal="User:sales-app",
        host="*",
        operation=operation,
        permission_type=PermissionType.ALLOW,
    )


G1 = _old(Operation.READ, ResourceType.TOPIC, "emea.eu.sales.", PatternType.PREFIXED)
G2 = _old(Operation.WRITE, ResourceType.TOPIC, "emea.eu.sales.", PatternType.PREFIXED)
G3 = _old(Operation.READ, ResourceType.GROUP, "sales-etl", PatternType.LITERAL)


class Golden:
    """The scenario's project in a folder of its own; ``lowered``: brokers know no such clusters."""

    def __init__(self, folder: Path, *, lowered: bool = False) -> None:
        self.folder = folder
        self._url = "embedded:.kgitops/golden.db?authorizer=acls&superUsers=User:kgitops"
        folder.mkdir()
        text = (SOURCE / "kgitops.yaml").read_text()
        if lowered:
            text = text.replace(self._url, f"{self._url}&virtual.clusters=lowered")
            self._url += "&virtual.clusters=lowered"
        (folder / "kgitops.yaml").write_text(text)

    def check_out(self, commit: int) -> None:
        """Let the manifests be those of this commit; 0 is before the first."""
        manifests = self.folder / "manifests"
        shutil.rmtree(manifests, ignore_errors=True)
        shutil.copytree(SOURCE / f"commit-{commit}", manifests)

    def edit(self, name: str, before: str, after: str) -> None:
        """Change the text of one manifest file, where it is found exactly once."""
        file = self.folder / "manifests" / name
        text = file.read_text()
        assert text.count(before) == 1, (before, text)
        file.write_text(text.replace(before, after))

    def add(self, text: str) -> None:
        """One more file of manifests."""
        (self.folder / "manifests" / "more.yaml").write_text(text)

    def have_history(self) -> None:
        """ACLs that nobody manages, and a group that has read (§24.1)."""
        self.change_behind(*(CreateAclRequest(binding=binding) for binding in (G1, G2, G3)))
        with closing(self.connect()) as cluster:
            physical = cluster.physical if isinstance(cluster, LoweredCluster) else cluster
            assert isinstance(physical, EmbeddedCluster)
            physical.commit("sales-etl", OFFSETS)

    def change_behind(self, *requests: Request) -> None:
        """What somebody else does to the cluster with other tools."""
        with closing(self.connect()) as cluster:
            for request in requests:
                (result,) = cluster.execute(
                    [request], validate_only=False, principal="User:kgitops"
                )
                assert result.ok, result

    def state(self) -> ClusterState:
        """The cluster as it is."""
        with closing(self.connect()) as cluster:
            return cluster.read_state()

    def offsets(self, group: str) -> object:
        """What a physical group has committed."""
        with closing(self.connect()) as cluster:
            return cluster.read_group_offsets(frozenset({group})).get(group)

    def connect(self) -> EmbeddedCluster | LoweredCluster:
        """The cluster itself."""
        cluster = connect(self._url, brokers=3, base=self.folder)
        assert isinstance(cluster, EmbeddedCluster | LoweredCluster)
        return cluster
