"""One project on one cluster: a unit of work that becomes one plan, and travels as JSON text."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.strict import array, boolean, choice, mapping, members, text, text_or_none
from kgitops.model.registry import Json


class StateFormat(StrEnum):
    """The format of a saved state."""

    JSON = "json"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFiles:
    """The files of a cluster's state: one in JSON, or several in Parquet."""

    form: StateFormat
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFiles:
    """A project in YAML: one folder that holds a project file, or PATHs without one.

    ``here`` is the folder where the command was typed: paths, and files in findings, are relative
    to it. ``git_sha`` and ``dirty`` are what the
    driver saw of its commit, once for all clusters; executors need no git.
    """

    paths: tuple[Path, ...]
    here: Path = Path()
    git_sha: str | None = None
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFiles:
    """A project's objects for this cluster, compiled to rows before.

    ``project`` is the name in their folder's name, if it has one.
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
    state: StateFiles
    desired: ManifestFiles | RowFiles
    policies: tuple[Path, ...] = ()
    nonce: str = ""


_KEYS = ("cluster", "project", "state", "desired", "policies", "nonce")
_MANIFESTS = ("paths", "here", "git_sha", "dirty")


def unit_to_text(unit: Unit) -> str:
    """Write the unit as one line."""
    return canonical_text(
        {
            "cluster": unit.cluster,
            "project": unit.project,
            "state": {"form": str(unit.state.form), "files": _texts(unit.state.files)},
            "desired": _desired_to_json(unit.desired),
            "policies": _texts(unit.policies),
            "nonce": unit.nonce,
        }
    )


def read_unit(content: str) -> Unit:
    """Read a unit that ``unit_to_text`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    values = members(json.loads(content), "unit", _KEYS)
    state = members(values["state"], "state", ("form", "files"))
    return Unit(
        cluster=text(values["cluster"], "cluster"),
        project=text(values["project"], "project"),
        state=StateFiles(
            form=choice(StateFormat, state["form"], "state.form"),
            files=array(state["files"], "state.files", _path),
        ),
        desired=_desired(values["desired"]),
        policies=array(values["policies"], "policies", _path),
        nonce=text(values["nonce"], "nonce"),
    )


def _desired_to_json(desired: ManifestFiles | RowFiles) -> dict[str, Json]:
    match desired:
        case ManifestFiles():
            return {
                "paths": _texts(desired.paths),
                "here": str(desired.here),
                "git_sha": desired.git_sha,
                "dirty": desired.dirty,
            }
        case RowFiles():
            return {"files": _texts(desired.files), "project": desired.project}


def _desired(value: Json) -> ManifestFiles | RowFiles:
    if "files" in mapping(value, "desired"):
        rows = members(value, "desired", ("files", "project"))
        return RowFiles(
            files=array(rows["files"], "desired.files", _path),
            project=text_or_none(rows["project"], "desired.project"),
        )
    values = members(value, "desired", _MANIFESTS)
    return ManifestFiles(
        paths=array(values["paths"], "desired.paths", _path),
        here=_path(values["here"], "desired.here"),
        git_sha=text_or_none(values["git_sha"], "desired.git_sha"),
        dirty=boolean(values["dirty"], "desired.dirty"),
    )


def _texts(paths: tuple[Path, ...]) -> list[Json]:
    return [str(path) for path in paths]


def _path(value: Json, path: str) -> Path:
    return Path(text(value, path))
