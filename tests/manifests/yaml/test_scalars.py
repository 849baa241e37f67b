"""Scalars are those of YAML 1.2's core schema, and no others."""

import math

import pytest

from kgitops.manifests.yaml.parse import parse
from kgitops.manifests.yaml.text import SourceText

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
        ("", None),
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
