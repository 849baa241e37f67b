"""A unit travels as one line of JSON, and nothing else is taken for one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kgitops.fleet.units.unit import (
    ManifestFiles,
    RowFiles,
    StateFiles,
    StateFormat,
    Unit,
    read_unit,
    unit_to_text,
)
from kgitops.model.json.strict import ShapeError

UNIT = Unit(
    cluster="eu/west é\n",
    project="pay",
    state=StateFiles(
        form=StateFormat.PARQUET, files=(Path("/s/a.parquet"), Path("/s/b c.parquet"))
    ),
    desired=ManifestFiles(paths=(Path("pay"), Path("../x.yaml")), here=Path("/home/me")),
    policies=(Path("rules"),),
    nonce="00ff",
)
COMMITTED = ManifestFiles(paths=(Path("p"),), here=Path("/h"), git_sha="abc", dirty=True)
ROWS = RowFiles(files=(Path("/d/x.parquet"),))


@pytest.mark.parametrize(
    "unit",
    [
        UNIT,
        replace(UNIT, desired=COMMITTED, policies=(), nonce=""),
        replace(
            UNIT, desired=ROWS, state=StateFiles(form=StateFormat.JSON, files=(Path("/s/a.json"),))
        ),
        replace(UNIT, desired=replace(ROWS, project="p/q")),
    ],
)
def test_a_unit_is_the_same_afterwards(unit: Unit) -> None:
    text = unit_to_text(unit)
    assert "\n" not in text
    assert read_unit(text) == unit
    assert unit_to_text(read_unit(text)) == text


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("cluster", None),
        ("project", 1),
        ("nonce", ["a"]),
        ("policies", "rules"),
        ("policies", [1]),
        ("state", {"form": "csv", "files": []}),
        ("state", {"form": "json"}),
        ("state", {"form": "json", "files": [], "more": 1}),
        ("state", "a.json"),
        ("desired", {}),
        ("desired", None),
        ("desired", "files"),
        ("desired", {"files": ["a"]}),
        ("desired", {"files": ["a"], "project": None, "paths": ["a"]}),
        ("desired", {"paths": ["a"], "here": "/", "git_sha": None, "dirty": "no"}),
        ("desired", {"paths": ["a"], "here": "/", "dirty": False}),
        ("more", 1),
    ],
)
def test_another_shape_is_refused(place: str, value: object) -> None:
    with pytest.raises(ShapeError):
        read_unit(json.dumps(json.loads(unit_to_text(UNIT)) | {place: value}))


@pytest.mark.parametrize("place", ["cluster", "project", "state", "desired", "policies", "nonce"])
def test_nothing_is_left_out(place: str) -> None:
    shape = json.loads(unit_to_text(UNIT))
    del shape[place]
    with pytest.raises(ShapeError, match=place):
        read_unit(json.dumps(shape))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "1"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (a ShapeError is one, and so is what json raises)
        read_unit(text)
