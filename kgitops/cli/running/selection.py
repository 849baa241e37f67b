"""The selection that a command line makes, and the cluster or snapshot to plan it against."""

import os
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kgitops.cli.running.options import PlanOptions, ProjectOptions
from kgitops.desired.selector import parse_selector
from kgitops.model.errors import UsageError
from kgitops.model.lowered import Grade
from kgitops.model.origin import install_command
from kgitops.model.resources.kinds import Kind
from kgitops.model.resources.names import is_principal
from kgitops.workflow.project.selection import Selection, Workspace, folder_names

if TYPE_CHECKING:
    from kgitops.cluster.port import Cluster

_DEFAULTS = PlanOptions()


def make_selection(
    project: ProjectOptions,
    options: PlanOptions = _DEFAULTS,
    *,
    variables_of: str | None = None,
    offline: bool = False,
) -> Selection:
    """The selection that the options stand for.

    Raises:
        UsageError: an option has an impossible value, or two exclude each other.
    """
    principal, targets, excludes = options.principal, options.targets, options.excludes
    if principal is not None and not is_principal(principal):
        raise UsageError(
            f"--as {principal!r} is not a principal; write Type:name, as in User:alice"
        )
    if both := sorted({*(targets or ())} & {*(excludes or ())}):
        raise UsageError(f"{both[0]} is given to --target and to --exclude; drop one of the two")
    if targets and options.selectors:
        raise UsageError("--target names objects and --selector their labels; drop one of the two")
    return Selection(
        paths=tuple(project.paths or ()),
        cluster=project.cluster,
        variables_of=variables_of,
        targets=frozenset(targets or ()),
        excludes=frozenset(excludes or ()),
        selector=parse_selector(options.selectors or ()),
        principal=principal,
        allow_deletes=dict(map(_allowance, options.allow_deletes or ())),
        allow_empty_folders=folder_names(options.allow_empty_folders or ()),
        allow_takeover=tuple(sorted({*(options.allow_takeover or ())})),
        offline=offline,
        fail_on=Grade(options.fail_on) if options.fail_on else None,
        environ=dict(os.environ),
    )


def _allowance(text: str) -> tuple[str, int]:
    """A kind and how many of its objects may be deleted, from ``Topic=12``."""
    kind, _, number = text.partition("=")
    kinds = {str(member).lower(): str(member) for member in Kind}
    if kind.lower() not in kinds or not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"--allow-deletes {text!r} can't be read; write KIND=N with one of "
            f"{', '.join(kinds.values())}, as in Topic=12"
        )
    return kinds[kind.lower()], int(number)


def check_parquet() -> None:
    """Refuse early where Parquet can't be read or written.

    Raises:
        UsageError: its package is not installed.
    """
    if find_spec("pyarrow") is None:
        raise UsageError(f"Parquet needs pyarrow; run {install_command('fleet')}")


def open_target(workspace: Workspace, snapshot: Path | None) -> "AbstractContextManager[Cluster]":
    """The workspace's cluster within a ``with`` block, or a snapshot in JSON or Parquet.

    Raises:
        UsageError: there is no such file, or Parquet's package is not installed.
        UnreachableError: the file is not a snapshot.
        SafetyError: the snapshot can't be trusted for planning.
    """
    if snapshot is None:
        return workspace.connected()
    if not snapshot.exists():
        raise UsageError(
            f"--snapshot {snapshot} does not exist; correct the path, or make one with "
            "kgitops snapshot -o"
        )
    if not (snapshot.suffix == ".parquet" or snapshot.is_dir()):
        from kgitops.workflow.project.selection import read_cluster

        return nullcontext(read_cluster(snapshot))
    check_parquet()
    from kgitops.cluster.snapshot import SnapshotCluster
    from kgitops.fleet.tables.hydrating import read_state
    from kgitops.fleet.units.states import find_state_files

    return nullcontext(SnapshotCluster(read_state(*find_state_files(snapshot))))
