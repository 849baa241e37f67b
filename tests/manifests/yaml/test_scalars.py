"""Scalars are those of YAML 1.2's core schema, and no others."""

import math

import pytest

from kgitops.manifests.yaml.document import EMPTY, SourceText
from kgitops.manifests.yaml.parse import parse

WORDS = """
yes no on off Yes y n tRUE nULL None 12:30 190:20:30 2026-11-21 2026-11-21T09:12:07Z
1_000 0b101 0x 0o8 1e . + 1.2.3 0o17a -0o17 .Inf1 ٣ = infinity nan
"""


def value(text: str) -> object:
    (document,) = parse(SourceText("a.yaml", f"a: {text}\n"), [])
    return document.content["a"]


@pytest.mark.parametrize(
    "text",
    WORDS.split(),
)
def test_it_is_text(text: str) -> None:
    assert value(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("0", 0),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1f", 31),
        ("9223372036854775808", 9223372036854775808),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1e3", -1000.0),
        ("12e03", 12000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
    ],
)
def test_it_has_the_value_and_type_of_the_core_schema(text: str, expected: object) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


EMPTY_FORMS = {
    "a:\n": "1:3",
    "a: # no value yet\n": "1:3",
    "a: &x\nb: *x\n": "1:4",
    "{a: }": "1:5",
    "{a, b: 1}": "1:3",
    '{"a": }': "1:7",
    "? a\n": "2:1",
    "b: &x\na: *x\n": "1:4",
}


@pytest.mark.parametrize("text", EMPTY_FORMS)
def test_a_key_without_a_value_is_empty_and_not_null(text: str) -> None:
    (document,) = parse(SourceText("a.yaml", text), [])
    assert document.content["a"] is EMPTY
    assert str(document.document.at("a")) == f"a.yaml:{EMPTY_FORMS[text]}"


def test_an_item_without_a_value_is_empty() -> None:
    assert value("\n-\n- 1\n- null") == [EMPTY, 1, None]


@pytest.mark.parametrize("text", ["!!null", "!!null ''", "Null", "~ # none"])
def test_a_written_null_is_null(text: str) -> None:
    assert value(text) is None


@pytest.mark.parametrize("text", ['""', "''", "!!str", "|\n"])
def test_an_empty_text_is_text(text: str) -> None:
    assert value(text) == ""


def test_not_a_number_is_a_float() -> None:
    found = value(".nan")
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text", ['"1"', "'true'", '"null"', "!!str 1", "|\n  1", ">-\n  ~", '"<<"']
)
def test_quotes_and_tags_make_text(text: str) -> None:
    assert isinstance(value(text), str)


def test_the_tags_of_the_core_schema_are_allowed() -> None:
    assert value("!!int 3") == 3
    assert value("!!float 3") == 3
    assert value("!!map {a: !!seq [!!null ~, !!bool true]}") == {"a": [None, True]}
