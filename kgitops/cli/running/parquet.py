"""Snapshots in Parquet, where a command takes one; what reads them is installed with the fleet."""

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kgitops.model.errors import UsageError
from kgitops.model.origin import install_command

if TYPE_CHECKING:
    from kgitops.cluster.port import Cluster
    from kgitops.workflow.project.selection import Workspace


def check_parquet() -> None:
    """Refuse early where Parquet can't be read or written.

    Raises:
        UsageError: its package is not installed.
    """
    if find_spec("pyarrow") is None:
        raise UsageError(f"Parquet needs pyarrow; run {install_command('fleet')}")


def far_side(workspace: "Workspace", snapshot: Path | None) -> "AbstractContextManager[Cluster]":
    """As ``workflow.offline.far_side``, also for a snapshot in Parquet.

    Raises:
        UsageError: there is no such file, or Parquet's package is not installed.
        UnreachableError: it is no snapshot.
        SafetyError: it can't be trusted for planning.
    """
    from kgitops.workflow import offline

    if snapshot is not None and not snapshot.exists():
        raise UsageError(
            f"--snapshot {snapshot} does not exist; correct the path, or make one with "
            "kgitops snapshot -o"
        )
    if snapshot is None or not (snapshot.suffix == ".parquet" or snapshot.is_dir()):
        return offline.far_side(workspace, snapshot)
    check_parquet()
    from kgitops.cluster.snapshot import SnapshotCluster
    from kgitops.fleet.tables.hydrating import read_state
    from kgitops.fleet.units.saved_state import files_of_state

    return nullcontext(SnapshotCluster(read_state(*files_of_state(snapshot))))
