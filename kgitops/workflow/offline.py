"""A snapshot file in the place of a cluster, for plans without any connection."""

from pathlib import Path

from kgitops.cluster.port import Cluster
from kgitops.cluster.snapshot import SnapshotCluster, read_snapshot
from kgitops.model.errors import UnreachableError


def read_cluster(path: Path) -> Cluster:
    """The state saved at ``path``, as a cluster that can only be read.

    Raises:
        UnreachableError: there is no such file, or it is not a snapshot.
        SafetyError: it can't be trusted for planning.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        reason = why.lower() if why else "it is not UTF-8"
        raise UnreachableError(
            f"the snapshot {path} can't be read: {reason}; make one with kgitops snapshot -o"
        ) from error
    return SnapshotCluster(read_snapshot(text, str(path)))
