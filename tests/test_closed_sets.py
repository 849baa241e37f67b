"""The check of matches over closed sets finds what it is for."""

import ast
from collections import Counter

import pytest
from closed_sets import closed_names, problems, silent_matches

MODEL = ast.parse("""
class Color(Enum):
    RED = 1
Shape = Circle | Square | model.Line
""")
NAMES = closed_names([MODEL])


def test_enums_and_unions_are_closed() -> None:
    assert {"Color", "Circle", "Square", "Line"} == NAMES


@pytest.mark.parametrize(
    "pattern", ["Circle()", "Color.RED", "model.Line() as x", "Circle() | Square(1)"]
)
def test_a_match_that_passes_over_members_is_found(pattern: str) -> None:
    text = f"match x:\n    case {pattern}:\n        pass\n    case _:\n        pass"
    assert list(silent_matches(ast.parse(text), NAMES)) == [4]


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("Circle()", "case _:\n        assert_never(x)"),
        ("Circle()", "case Square():\n        pass"),
        ("str()", "case _:\n        pass"),
    ],
)
def test_others_are_left(pattern: str, end: str) -> None:
    text = f"match x:\n    case {pattern}:\n        pass\n    {end}"
    assert list(silent_matches(ast.parse(text), NAMES)) == []


def test_the_list_only_gets_shorter() -> None:
    listed = Counter({"a.py": 2, "b.py": 1})
    assert problems(listed, listed) == []
    assert len(problems(Counter({"a.py": 3, "b.py": 1}), listed)) == 1
    assert len(problems(Counter({"a.py": 2}), listed)) == 1
