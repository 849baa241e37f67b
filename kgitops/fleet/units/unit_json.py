"""A unit as JSON text, as it travels to the task that plans it."""

import json
from pathlib import Path

from kgitops.fleet.units.unit import Form, ManifestsAt, RowsAt, StateAt, Unit
from kgitops.model.json.canonical import canonical_text
from kgitops.model.json.strict import array, boolean, choice, mapping, members, text, text_or_none
from kgitops.model.registry import Json

_KEYS = ("cluster", "project", "state", "desired", "policies", "nonce")
_MANIFESTS = ("paths", "here", "git_sha", "dirty")


def unit_to_text(unit: Unit) -> str:
    """One line."""
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
    """What ``unit_to_text`` wrote.

    Raises:
        ShapeError: it is of another shape.
    """
    given = members(json.loads(content), "unit", _KEYS)
    state = members(given["state"], "state", ("form", "files"))
    return Unit(
        cluster=text(given["cluster"], "cluster"),
        project=text(given["project"], "project"),
        state=StateAt(
            form=choice(Form, state["form"], "state.form"),
            files=array(state["files"], "state.files", _path),
        ),
        desired=_desired(given["desired"]),
        policies=array(given["policies"], "policies", _path),
        nonce=text(given["nonce"], "nonce"),
    )


def _desired_to_json(desired: ManifestsAt | RowsAt) -> dict[str, Json]:
    match desired:
        case ManifestsAt():
            return {
                "paths": _texts(desired.paths),
                "here": str(desired.here),
                "git_sha": desired.git_sha,
                "dirty": desired.dirty,
            }
        case RowsAt():
            return {"files": _texts(desired.files), "project": desired.project}


def _desired(value: Json) -> ManifestsAt | RowsAt:
    if "files" in mapping(value, "desired"):
        rows = members(value, "desired", ("files", "project"))
        return RowsAt(
            files=array(rows["files"], "desired.files", _path),
            project=text_or_none(rows["project"], "desired.project"),
        )
    given = members(value, "desired", _MANIFESTS)
    return ManifestsAt(
        paths=array(given["paths"], "desired.paths", _path),
        here=_path(given["here"], "desired.here"),
        git_sha=text_or_none(given["git_sha"], "desired.git_sha"),
        dirty=boolean(given["dirty"], "desired.dirty"),
    )


def _texts(paths: tuple[Path, ...]) -> list[Json]:
    return [str(path) for path in paths]


def _path(value: Json, path: str) -> Path:
    return Path(text(value, path))
