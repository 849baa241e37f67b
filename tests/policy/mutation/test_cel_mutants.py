"""Mutants of policies in CEL: which there are, and that each differs in one place."""

import pytest
from msgspec.structs import replace

from kgitops.model.source import Source
from kgitops.policy.evaluate.bundle import (
    CelExpression,
    CelPolicy,
    CelValidation,
    Level,
    RequestMatch,
)
from kgitops.policy.mutation.cel import cel_mutants

PLACE = Source("policies/a.yaml", 12, 7)


def policy(expression: str) -> CelPolicy:
    only = CelValidation(expression=expression, message="x >= 3", source=PLACE)
    return CelPolicy(name="a", level=Level.HARD, digest="", validations=(only,))


def changes(expression: str) -> dict[str, str]:
    """What is changed to the expression that comes of it."""
    return {
        change.what: mutant.validations[0].expression
        for mutant, change in cel_mutants(policy(expression))
        if change.what not in ("validation dropped", "condition negated")
    }


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a >= b", {">= → >": "a > b"}),
        ("a > b", {"> → >=": "a >= b"}),
        ("a <= b", {"<= → <": "a < b"}),
        ("a < b", {"< → <=": "a <= b"}),
        ("a == b", {"== → !=": "a != b"}),
        ("a != b", {"!= → ==": "a == b"}),
        ("a && b", {"&& → ||": "a || b"}),
        ("a || b", {"|| → &&": "a && b"}),
        ("!a", {"! removed": "a"}),
        ("a + b", {"+ → -": "a - b"}),
        ("a - b", {"- → +": "a + b"}),
        ("a * b", {"* → /": "a / b"}),
        ("a / b", {"/ → *": "a * b"}),
        ("a % b", {"% → *": "a * b"}),
        ("-a", {"- removed": "a"}),
        ("f(-a)", {"- removed": "f(a)"}),
        ("a[3]", {"3 → 4": "a[4]", "3 → 2": "a[2]"}),
        ("0", {"0 → 1": "1"}),
        ("3u", {"3u → 4u": "4u", "3u → 2u": "2u"}),
        ("0x10", {"0x10 → 17": "17", "0x10 → 15": "15"}),
        ("true", {"true → false": "false"}),
        ("false", {"false → true": "true"}),
        ("a.startsWith(b)", {"startsWith → endsWith": "a.endsWith(b)"}),
        ("a.all(x, x.b)", {"all → exists": "a.exists(x, x.b)"}),
        ("ms('7d')", {"'7d' → '8d'": "ms('8d')", "'7d' → '6d'": "ms('6d')"}),
    ],
)  # fmt: skip
def test_a_token_is_changed(expression: str, expected: dict[str, str]) -> None:
    assert changes(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "'>= && 3 true'",
        "r'a\\d+'",
        "a // == 3\n",
        "'a' + b",
        "a + 'b'",
        "a.min",
        "configs['retention.ms']",
        "a in b",
    ],
)
def test_texts_comments_and_names_are_left_alone(expression: str) -> None:
    assert changes(expression) == {}


def test_a_condition_is_negated_as_a_whole_and_dropped() -> None:
    mutants = {change.what: mutant for mutant, change in cel_mutants(policy("a || b // or"))}
    assert mutants["condition negated"].validations[0].expression == "!(a || b // or\n)"
    assert mutants["validation dropped"].validations[0].expression == "true"


def test_every_part_that_decides_is_changed_and_no_message() -> None:
    whole = CelPolicy(
        name="a",
        level=Level.HARD,
        digest="",
        source=Source("p.yaml", 3, 5),
        match=RequestMatch(requests=("CreateTopic", "AlterTopic"), names=("payments.*",)),
        match_conditions=(CelExpression(name="c", expression="a"),),
        variables=(CelExpression(name="v", expression="1"),),
        validations=(
            CelValidation(expression="b", message="3 >= 2", message_expression="string(3)"),
            CelValidation(expression="c"),
        ),
    )
    found = list(cel_mutants(whole))
    assert [change.what for _, change in found] == [
        "request no longer matched",
        "request no longer matched",
        "every name matched",
        "condition dropped",
        "condition negated",
        "1 → 2",
        "1 → 0",
        "validation dropped",
        "condition negated",
        "validation dropped",
        "condition negated",
    ]
    for mutant, _ in found:
        assert mutant != whole
        before = [(one.message, one.message_expression) for one in whole.validations]
        assert [(one.message, one.message_expression) for one in mutant.validations] == before


def test_one_request_is_not_dropped_for_then_all_would_match() -> None:
    one = replace(policy("a"), match=RequestMatch(requests=("CreateTopic",)))
    assert not any("request" in change.what for _, change in cel_mutants(one))


def test_a_change_names_the_place_of_its_expression() -> None:
    for _, change in cel_mutants(policy("a >= 3")):
        assert (change.line, change.column, change.excerpt) == (12, 7, "a >= 3")
