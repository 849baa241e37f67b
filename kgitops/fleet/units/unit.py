"""One project on one cluster: a unit of work that becomes one plan. It travels as JSON."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Form(StrEnum):
    """How a cluster's state was saved."""

    JSON = "json"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAt:
    """Where a cluster's state is: one JSON file, or the Parquet files that hold its rows."""

    form: Form
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsAt:
    """A project in YAML: one folder that holds a project file, or PATHs without one.

    ``here`` is the folder in which the command was typed: relative paths are meant from there, and
    findings call files by the names that they have there. ``git_sha`` and ``dirty`` are what the
    driver saw of its commit, once for all clusters; executors need no git.
    """

    paths: tuple[Path, ...]
    here: Path = Path()
    git_sha: str | None = None
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAt:
    """What a project declares for this cluster, compiled to rows before.

    ``project`` is whose rows their folder says that they are, where it says so.
    """

    files: tuple[Path, ...]
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """``project`` is a name for messages and files, unique within its cluster.

    ``policies`` are the files and folders of ``--policies``. ``nonce`` is the plan's.
    """

    cluster: str
    project: str
    state: StateAt
    desired: ManifestsAt | RowsAt
    policies: tuple[Path, ...] = ()
    nonce: str = ""
