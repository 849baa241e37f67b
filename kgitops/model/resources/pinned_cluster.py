"""The id of a cluster that a project pins, and the refusal of any other cluster."""

from msgspec import Struct

from kgitops.model.errors import OtherClusterError, SafetyError
from kgitops.model.source import Source


class PinnedId(Struct, frozen=True, kw_only=True):
    """The ``clusterId`` of a project's cluster, and its place in the project file."""

    cluster: str
    cluster_id: str
    address: str
    source: Source

    def check(self, cluster_id: str, *, snapshot: bool = False) -> None:
        """Refuse a cluster with another id; ``snapshot``: that of its saved state.

        Raises:
            OtherClusterError: it has another id, or none.
        """
        if cluster_id == self.cluster_id:
            return
        place = "the snapshot is of" if snapshot else f"{self.address} leads to"
        other = f"the cluster {cluster_id}" if cluster_id else "a cluster that reports no id"
        wrong = "choose another snapshot" if snapshot else "correct the url"
        replaced = (
            f", or write clusterId: {cluster_id} if the cluster was replaced on purpose"
            if cluster_id
            else ""
        )
        raise OtherClusterError(
            f"{self._object}: {place} {other}, and clusterId is {self.cluster_id}; "
            f"{wrong}{replaced}",
            cluster_id=cluster_id,
        )

    def missing_store(self) -> SafetyError:
        """Build the error for an embedded cluster whose store does not exist."""
        return SafetyError(
            f"{self._object}: {self.address} has no store, and clusterId is {self.cluster_id}; "
            "bring the store back, or remove clusterId to begin with a new cluster"
        )

    @property
    def _object(self) -> str:
        return f"{self.source}: the cluster {self.cluster}"
