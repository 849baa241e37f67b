"""The check of words finds what it is for."""

import pytest
from words import PHRASES, places, problems


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_found_at_its_line(phrase: str) -> None:
    assert list(places(f"One.\nIt {phrase.upper()} two.\n")) == [(2, phrase)]


def test_a_phrase_may_cross_the_end_of_a_line() -> None:
    assert list(places("What is\ntold.")) == [(1, "is told")]


def test_parts_of_words_are_left() -> None:
    assert list(places("history, Whoevers, renewed anewly, untold")) == []


def test_the_list_only_gets_shorter() -> None:
    found = {"a.md": [(3, "anew")], "b.md": [(1, "is told")]}
    assert list(problems(found, {"a.md": 1, "b.md": 1})) == []
    (more,) = problems(found, {"b.md": 1})
    assert more == "a.md: 1 phrases to replace, 0 are listed (3: 'anew', write 'again')"
    (less,) = problems(found, {"a.md": 1, "b.md": 2})
    assert less == ("b.md: 2 phrases are listed, 1 are left; run python tools/words.py --write")
