"""The published JSON Schema and the plans that are really written agree."""

import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from plan.plan_json import sealed_to_json
from report.plans import ALL_PLANS, any_plan, sealed, twelve_changes
from tiers import examples

from kgitops.plan.document.file import to_text
from kgitops.plan.document.plan import Plan
from kgitops.report.json.plan_schema import plan_schema
from kgitops.report.json.plans import render_json

VALIDATOR = Draft202012Validator(plan_schema())


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(plan_schema())


@pytest.mark.parametrize("name", ALL_PLANS)
def test_a_plan_is_valid_with_and_without_its_envelope(name: str) -> None:
    plan = ALL_PLANS[name]()
    document = json.loads(to_text(sealed(plan)))
    VALIDATOR.validate(document)
    del document["envelope"]
    assert json.loads(render_json(plan)) == document
    # Its changes are valid: they are the same as above.
    VALIDATOR.validate({**document, "changes": document["changes"][:1]})


@given(any_plan)
@settings(max_examples=examples(50))
def test_any_plan_is_valid(plan: Plan) -> None:
    VALIDATOR.validate(json.loads(to_text(sealed(plan))))


def test_a_sealed_plan_is_shown_as_its_file() -> None:
    plan = sealed(twelve_changes())
    assert render_json(plan.plan, sealed=plan) == to_text(plan)


DOCUMENT = sealed_to_json(sealed(twelve_changes()))


@pytest.mark.parametrize("key", [key for key in DOCUMENT if key != "envelope"])
def test_a_plan_without_one_of_its_keys_is_invalid(key: str) -> None:
    assert not VALIDATOR.is_valid({k: v for k, v in DOCUMENT.items() if k != key})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format_version",), "2.0"),
        (("kind",), "kgitops.state"),
        (("changes", 0, "actions"), ["replace"]),
        (("changes", 0, "reason", "level"), "harmless"),
        (("changes", 0, "requests", 0, "api"), "DropAll"),
        (("changes", 0, "requests", 0, "body"), {"topic": "x", "topic_id": "y", "force": True}),
        (("changes", 0, "requests", 0, "body"), {"topic": "x"}),
        (("base", "registry", "offset"), 12),
        (("verdict", "exit"), 42),
        (("summary", "delete"), -1),
        (("plan_digest",), "md5:0"),
        (("envelope", "expires"), "tomorrow"),
    ],
)
def test_what_no_plan_may_hold_is_invalid(path: tuple[str | int, ...], value: object) -> None:
    document = deepcopy(DOCUMENT)
    place = document
    for step in path[:-1]:
        place = place[step]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    assert not VALIDATOR.is_valid(document)
