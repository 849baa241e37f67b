"""One project on one cluster: a unit of work that becomes one plan, and travels as JSON."""

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from kgitops.model.json.codec import special
from kgitops.model.registry import Json


class StateFormat(StrEnum):
    """The format of a saved state."""

    JSON = "json"
    PARQUET = "parquet"


class StateFiles(Struct, frozen=True, kw_only=True):
    """The files of a cluster's state: one in JSON, or several in Parquet."""

    form: StateFormat
    files: tuple[Path, ...]


class ManifestFiles(Struct, frozen=True, kw_only=True, tag="manifests"):
    """A project in YAML: one folder that holds a project file, or PATHs without one.

    ``here`` is the folder where the command was typed: paths, and files in findings, are relative
    to it. ``git_sha`` and ``dirty`` are what the driver saw of its commit, once for all clusters;
    executors need no git.
    """

    paths: tuple[Path, ...]
    here: Path = Path()
    git_sha: str | None = None
    dirty: bool = False


class RowFiles(Struct, frozen=True, kw_only=True, tag="rows"):
    """A project's objects for this cluster, compiled to rows before.

    ``project`` is the name in their folder's name, if it has one.
    """

    files: tuple[Path, ...]
    project: str | None = None


class Unit(Struct, frozen=True, kw_only=True):
    """``project`` is a name for messages and files, unique within its cluster.

    ``policies`` are the files and folders of ``--policies``. ``nonce`` is the plan's.
    ``allow_empty_folders`` may be empty while it removes objects, whosever they are.
    """

    cluster: str
    project: str
    state: StateFiles
    desired: ManifestFiles | RowFiles
    policies: tuple[Path, ...] = ()
    nonce: str = ""
    allow_empty_folders: tuple[str, ...] = ()


def _path(value: Json) -> Path:
    if not isinstance(value, str):
        raise ValueError("is not text")  # noqa: TRY004 (one error for any shape)
    return Path(value)


# Values are of the system's own class of paths, annotations say Path.
for _kind in (Path, type(Path())):
    special(_kind, str, _path)
