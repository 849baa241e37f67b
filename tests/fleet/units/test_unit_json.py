"""A unit travels as one line of JSON, and nothing else is taken for one."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kgitops.fleet.units.unit import ManifestFiles, RowFiles, StateFiles, StateFormat, Unit
from kgitops.model.json.codec import decode, encode
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
MANIFESTS = json.loads(encode(COMMITTED))
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
    text = encode(unit)
    assert b"\n" not in text
    assert decode(Unit, text, "unit") == unit
    assert encode(decode(Unit, text, "unit")) == text


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
        ("desired", {"type": "rows", "files": ["a"]}),
        ("desired", {"type": "csv", "files": ["a"], "project": None}),
        ("desired", {"type": "rows", "files": ["a"], "project": None, "paths": ["a"]}),
        ("desired", MANIFESTS | {"dirty": "no"}),
        ("desired", {key: value for key, value in MANIFESTS.items() if key != "git_sha"}),
        ("more", 1),
    ],
)
def test_another_shape_is_refused(place: str, value: object) -> None:
    with pytest.raises(ShapeError):
        decode(Unit, json.dumps(json.loads(encode(UNIT)) | {place: value}), "unit")


@pytest.mark.parametrize("place", ["cluster", "project", "state", "desired", "policies", "nonce"])
def test_nothing_is_left_out(place: str) -> None:
    shape = json.loads(encode(UNIT))
    del shape[place]
    with pytest.raises(ShapeError, match=place):
        decode(Unit, json.dumps(shape), "unit")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "1"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ShapeError):
        decode(Unit, text, "unit")
