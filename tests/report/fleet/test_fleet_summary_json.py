"""``fleet.json``: what is written is read back, and nothing else is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from report.fleet.fleets import FLEETS, a_failed_unit, a_run, a_unit, any_run, any_unit, large
from tiers import examples

from kgitops.fleet.summary import RunSummary, UnitSummary, verdict
from kgitops.fleet.summary_json import read_run, read_unit, run_to_text, unit_to_text
from kgitops.model.errors import UntrustedPlanError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.model.verdict import ExitCode
from kgitops.report.fleet.fleet_json import fleet_schema

VALIDATOR = Draft202012Validator(fleet_schema())
GOLDEN = Path(__file__).parents[2] / "golden_files" / "fleet"
WHOLE = a_run(a_unit(creates=3, denied=2), a_failed_unit())


def test_the_published_schema_is_one() -> None:
    Draft202012Validator.check_schema(fleet_schema())


@pytest.mark.parametrize("key", [*json.loads(run_to_text(WHOLE))])
def test_a_summary_without_one_of_its_keys_does_not_fit(key: str) -> None:
    document = json.loads(run_to_text(WHOLE))
    del document[key]
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("key", [*json.loads(unit_to_text(a_unit()))])
def test_a_unit_without_one_of_its_keys_does_not_fit(key: str) -> None:
    document = json.loads(run_to_text(WHOLE))
    del document["units"][0][key]
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("file", sorted(GOLDEN.rglob("fleet.json")), ids=str)
def test_a_file_of_an_earlier_version_fits_and_may_gain_keys(file: Path) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    VALIDATOR.validate(document)
    document["units"][0]["more"] = document["more"] = 1
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    "change",
    [
        {"changes": {"Topic": -1}},
        {"reason_count": -1},
        {"milliseconds": -1},
        {"exit": 77},
        {"findings": [{"problem": "p", "advice": "a", "severity": "fatal", "source": None}]},
        {"violations": [{"policy": "p", "level": "l", "outcome": "o", "count": -1}]},
    ],
)
def test_a_unit_of_impossible_values_does_not_fit(change: dict[str, Json]) -> None:
    document = json.loads(run_to_text(WHOLE))
    document["units"][0].update(change)
    assert not VALIDATOR.is_valid(document)


@given(any_run)
@settings(max_examples=examples(60))
def test_a_run_is_read_back_as_it_was_and_fits_the_schema(run: RunSummary) -> None:
    text = run_to_text(run)
    assert read_run(text, "fleet.json") == run
    VALIDATOR.validate(json.loads(text))


@given(any_unit)
@settings(max_examples=examples(30))
def test_a_unit_travels_alone(unit: UnitSummary) -> None:
    text = unit_to_text(unit)
    assert "\n" not in text
    assert read_unit(text) == unit


@pytest.mark.parametrize("name", FLEETS)
def test_every_fleet_is_canonical_and_begins_with_when_it_was_made(name: str) -> None:
    """``fleet/output/runs.py`` puts runs in order by these first bytes."""
    run = FLEETS[name]().latest
    text = run_to_text(run)
    assert text == canonical_json(json.loads(text)).decode() + "\n"
    assert text.startswith(f'{{"created":"{run.created}"')


def test_a_name_that_is_no_text_is_written_as_an_escape() -> None:
    run = a_run(replace(a_unit(), files=("\udcff.parquet",)))
    assert read_run(run_to_text(run), "x").units[0].files == ("\\udcff.parquet",)


def _changed(change: Callable[[dict[str, Json]], object]) -> str:
    document = json.loads(run_to_text(WHOLE))
    change(document)
    return json.dumps(document)


REFUSED: dict[str, tuple[Callable[[dict[str, Json]], object], str]] = {
    "kind": (lambda d: d.update(kind="kgitops.plan"), "its kind is not kgitops.fleet"),
    "next version": (lambda d: d.update(format_version="2.0"), "of format version '2.0'"),
    "no version": (lambda d: d.pop("format_version"), "has no format version"),
    "number for a version": (lambda d: d.update(format_version=1), "format_version is not text"),
    "key missing": (lambda d: d.pop("unplanned"), "has no key 'unplanned'"),
    "unknown key": (lambda d: d.update(more=1), "has the unknown key 'more'"),
    "no moment": (lambda d: d.update(created="yesterday"), "created is not a moment"),
    "unit's key missing": (
        lambda d: d["units"][1].pop("planned"),
        "units[1] has no key 'planned'",
    ),
    "less than nothing": (
        lambda d: d["units"][0]["changes"].update(Topic=-1),
        "units[0].changes.Topic is not a whole number from 0 on",
    ),
    "no number": (
        lambda d: d["units"][0].update(reason_count="2"),
        "units[0].reason_count is not a whole number",
    ),
    "no exit code": (
        lambda d: d["units"][0].update(exit=77),
        "units[0].exit is none of 0, 1, 2, ",
    ),
    "no exit code of a reason": (
        lambda d: d["units"][1]["reasons"][0].update(exit=77),
        "units[1].reasons[0].exit is none of 0, 1, 2, ",
    ),
    "one unit twice": (
        lambda d: d["units"].append(d["units"][0]),
        "units has one project on one cluster twice",
    ),
    "one violation twice": (
        lambda d: d["units"][0]["violations"].append(d["units"][0]["violations"][0]),
        "units[0].violations has one policy, level and outcome twice",
    ),
    "units are no array": (lambda d: d.update(units={}), "units is not an array"),
    "a fraction": (lambda d: d.update(milliseconds=1.5), "1.5 is not a whole number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_of_another_shape_is_refused_with_one_sentence(name: str) -> None:
    change, said = REFUSED[name]
    with pytest.raises(UntrustedPlanError) as refused:
        read_run(_changed(change), "runs/1/fleet.json")
    (reason,) = refused.value.reasons
    assert reason.exit is ExitCode.UNTRUSTED
    assert reason.sentence.startswith("runs/1/fleet.json ")
    assert said in reason.sentence
    assert "; " in reason.sentence
    assert "\n" not in reason.sentence


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"kind":1,"kind":1}'])
def test_what_is_no_summary_is_refused(text: str) -> None:
    with pytest.raises(UntrustedPlanError, match=r"^f\.json is not "):
        read_run(text, "f.json")


def test_a_key_that_is_given_twice_is_refused() -> None:
    """Readers of JSON differ in which of the two they take."""
    text = run_to_text(WHOLE).replace('"unplanned":[]', '"unplanned":[],"unplanned":[]')
    with pytest.raises(UntrustedPlanError, match="is not JSON"):
        read_run(text, "fleet.json")


def test_a_file_that_was_cut_anywhere_is_refused() -> None:
    text = run_to_text(WHOLE)
    for end in range(0, len(text) - 2, 97):
        with pytest.raises(UntrustedPlanError):
            read_run(text[:end], "fleet.json")


def test_a_later_minor_version_of_the_same_shape_is_read() -> None:
    assert read_run(_changed(lambda d: d.update(format_version="1.7")), "x") == WHOLE


def test_a_unit_without_a_plan_and_without_a_reason_is_not_taken_for_fine() -> None:
    silent = replace(a_failed_unit(), reasons=(), reason_count=0, exit=ExitCode.SUCCESS)
    assert verdict(a_run(silent, a_unit())).exit is ExitCode.ERROR
    unreached = replace(a_failed_unit(), reasons=(), reason_count=0)
    assert verdict(a_run(unreached)).exit is ExitCode.UNREACHABLE
    assert verdict(a_run(a_unit(creates=1))).exit is ExitCode.CHANGES
    assert verdict(a_run(a_unit())).exit is ExitCode.SUCCESS


def test_a_large_run_is_small() -> None:
    assert len(run_to_text(large().latest)) < 1_000 * 500
