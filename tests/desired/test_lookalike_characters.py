"""Characters that a reader takes for others, or does not see."""

import unicodedata

import pytest

from kgitops.desired import lookalikes
from kgitops.desired.lookalikes import appearance, bare_name, is_hidden, lookalike_problem

_HIGHER = (*range(0x1D400, 0x1D800), *range(0xE0000, 0xE0200))
SUSPICIOUS = [
    ("User:\u0430pp", "U+0430 CYRILLIC SMALL LETTER A as character 6, which looks like 'a'"),
    ("User:\u0430\u0440\u0440", "U+0430 CYRILLIC SMALL LETTER A as character 6"),
    ("p\u03b1yments", "U+03B1 GREEK SMALL LETTER ALPHA as character 2, in a word with letters of"),
    ("\u043f\u0440\u03bf\u0431\u0430", "U+03BF GREEK SMALL LETTER OMICRON"),
    ("\u0416team", "U+0416 CYRILLIC CAPITAL LETTER ZHE as character 1, in a word with"),
    ("User:\u2217", "U+2217 ASTERISK OPERATOR as character 6, which looks like '*'"),
    ("orders\u2013eu", "U+2013 EN DASH as character 7, which looks like '-'"),
    ("User\u2236app", "U+2236 RATIO"),
    ("\uff41pp", "U+FF41 FULLWIDTH LATIN SMALL LETTER A as character 1, which looks like 'a'"),
    ("\u212aafka", "U+212A KELVIN SIGN as character 1, which looks like 'K'"),
    ("\U0001d41aapp", "U+1D41A MATHEMATICAL BOLD SMALL A"),
    ("\ufb01le", "U+FB01 LATIN SMALL LIGATURE FI as character 1, which looks like 'fi'"),
    ("my\u00a0app", "U+00A0 NO-BREAK SPACE as character 3, which looks like ' '"),
    ("pay\u200bments", "U+200B ZERO WIDTH SPACE as character 4, which is invisible"),
    ("\u202eppa", "U+202E RIGHT-TO-LEFT OVERRIDE as character 1, which is invisible"),
    ("app\u2066x", "U+2066 LEFT-TO-RIGHT ISOLATE"),
    ("app\u3164", "U+3164 HANGUL FILLER"),
    ("app\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
    ("app\x1b", "U+001B CONTROL CHARACTER as character 4, which is invisible or not printable"),
    ("cafe\u0301", "U+0301 COMBINING ACUTE ACCENT as character 5, so it is not in Unicode's form"),
    ("\u212b", "U+212B ANGSTROM SIGN as character 1, so it is not in Unicode's form NFC"),
    ("\u03a9-\u2126", "U+2126 OHM SIGN"),
]
ORDINARY = [
    "User:app",
    "User:*",
    "User:Привет",
    "orders-заказы",
    "сервис-с-данными",
    "日本",
    "APIサーバー",
    "한국어",
    "Ελλάδα",
    "Հայաստան",
    "שלום",
    "مرحبا",
    "น้ำ",
    "हिन्दी",
    "café",
    "Müller",
    "Işık",
    "col·legi",
    "O’Brien",
    "CN=Jörg,O=x",
    "🚀-app",
]


@pytest.mark.parametrize(("name", "says"), SUSPICIOUS)
def test_a_suspicious_name_is_explained(name: str, says: str) -> None:
    found = lookalike_problem(name)
    assert found is not None
    assert f"{name!r} contains {says}" in found.problem


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_name_is_quiet(name: str) -> None:
    assert lookalike_problem(name) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("app", "\u0430pp"),
        ("app", "\uff41pp"),
        ("app", "a\u200bpp"),
        ("app", "app\x7f"),
        ("Kafka", "\u212aafka"),
        ("*", "\u2217"),
        ("caf\u00e9", "cafe\u0301"),
        ("\u00eb", "\u0451"),
        ("O'Brien", "O\u2019Brien"),
        ("kip", "k\u0131p"),
        ("Роса", "Poca"),
    ],
)
def test_names_that_look_the_same_have_one_appearance(one: str, other: str) -> None:
    assert appearance(one) == appearance(other)


@pytest.mark.parametrize(
    ("one", "other"), [("cafe", "café"), ("и", "й"), ("App", "app"), ("0", "O"), ("1", "l")]
)
def test_other_names_have_other_appearances(one: str, other: str) -> None:
    assert appearance(one) != appearance(other)


def test_only_a_user_with_a_name_is_a_bare_name() -> None:
    assert list(map(bare_name, ["User:app", "User:*", "User:\u2217", "Group:app"])) == [
        "app",
        "User:*",
        "User:\u2217",
        "Group:app",
    ]


def test_every_character_is_judged() -> None:
    """A name of any one character gives an answer, and what is hidden is always a problem."""
    for code in (*range(0x3100), *range(0xA000, 0xD000), *range(0xF900, 0x11000), *_HIGHER):
        character = chr(code)
        found = lookalike_problem(character)
        appearance(character)
        if is_hidden(character):
            assert found is not None, f"U+{code:04X}"


def test_tables_hold_no_ascii_and_nothing_twice() -> None:
    letters, signs, similar = lookalikes._LETTERS, lookalikes._SIGNS, lookalikes._SIMILAR
    tables = [*letters, *signs, *similar]
    assert len(tables) == len(set(tables))
    for character, plain in {**letters, **signs, **similar}.items():
        assert not character.isascii()
        assert plain.isascii()
        assert unicodedata.normalize("NFKD", character) == character  # else it is never folded
