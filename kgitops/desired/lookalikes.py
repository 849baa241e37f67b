"""Names that a reader takes for others: similar letters, hidden characters, forms of Unicode.

A letter of another alphabet is suspicious only among Latin letters, or in a name whose letters of
that alphabet all look Latin. A name in one script is ordinary, whatever the script.
"""

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Me"})
# Invisible, but not in a category that says so: fillers, blanks, joiners, variation selectors.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0x180B, 0x1810)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Alphabets that share shapes; the first word of a letter's Unicode name is its alphabet."""
_WORD = re.compile(r"[^\W\d_]+")
_USER = "User:"


def _pairs(characters: str, plain: str) -> dict[str, str]:
    return dict(zip(characters, plain, strict=True))


_LETTERS = {
    **_pairs("АВЕЅІЈКМНОРСТХҮԌԚԜӀаеорсухѕіјһԁԛԝѵү", "ABESIJKMHOPCTXYGQWIaeopcyxsijhdqwvy"),
    **_pairs("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧνορϳ", "ABEZHIKMNOPTYXvopj"),
    **_pairs("ՕՍՏոսօհցզ", "OUSnuohgq"),
    **_pairs("ᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "ABCDEGHJKLMPRSTVWZ"),
}
"""Letters of other alphabets that look like one of ASCII."""
_SIGNS = {
    **_pairs("∗⁎٭✱∶ː꞉׃։∕⁄∖⧵꞊٪‚∣❘ǀǃ", r"****::::://\\=%,|||!"),
    **_pairs("‐‒–—−⁃ɑɡᴄᴏᴠᴡᴢꜱ", "------agcovwzs"),
}
"""Signs, dashes and phonetic letters that look like a character of ASCII wherever they are."""
_SIMILAR = _pairs("ıαιγυ‘’‛ʼ“”‟", "iaiyu''''\"\"\"")
"""Characters of ordinary names that make two names look the same."""
_ALIKE = str.maketrans({**_LETTERS, **_SIGNS, **_SIMILAR})


class Lookalike(Struct, frozen=True):
    """The reason why a name is easily taken for another one, and what to write instead."""

    problem: str
    advice: str


def is_hidden(character: str) -> bool:
    """Return whether the character acts on text, or shows as nothing or as an unusual blank."""
    category = unicodedata.category(character)
    return (
        category in _HIDDEN_CATEGORIES
        or (category == "Zs" and character != " ")
        or character in _INVISIBLE
    )


def is_plain(name: str) -> bool:
    """Return whether the name is printable ASCII, which most are."""
    return name.isascii() and name.isprintable()


def bare_name(name: str) -> str:
    """Return the user of a principal ``User:name``; another name, and ``User:*``, unchanged."""
    bare = name.removeprefix(_USER)
    return bare if any(map(str.isalnum, bare)) else name


def appearance(name: str) -> str:
    """Return a text that is the same for names that look the same; printable ASCII is its own."""
    if is_plain(name):
        return name
    decomposed = unicodedata.normalize("NFKD", name)
    seen = "".join(character for character in decomposed if not is_hidden(character))
    return unicodedata.normalize("NFC", seen.translate(_ALIKE))


def may_have_twin(name: str) -> bool:
    """Return whether another name could look the same: one of the two has such a character."""
    return lookalike_problem(name) is not None or any(sign in _SIMILAR for sign in name)


def lookalike_problem(name: str) -> Lookalike | None:
    """Return the first reason to take the name for another one; None for an ordinary name."""
    if is_plain(name):
        return None
    for at in range(len(name)):
        if (found := _in_itself(name, at)) is not None:
            return found
    return _decomposed(name) or next(_out_of_place(name), None)


def _in_itself(name: str, at: int) -> Lookalike | None:
    """Judge a character that is suspicious in any name."""
    character = name[at]
    plain = _SIGNS.get(character) or unicodedata.normalize("NFKC", character)
    if plain != character and plain.isascii():
        return _taken_for(name, at, plain)
    if is_hidden(character):
        problem = f"{_place(name, at)}, which is invisible or not printable"
        return Lookalike(problem, "remove the character, unless the name really has it")
    return None


def _decomposed(name: str) -> Lookalike | None:
    """Judge the form: two of them look the same, and are different names to Kafka."""
    composed = unicodedata.normalize("NFC", name)
    if composed == name:
        return None
    at = next(
        end for end in range(len(name)) if not unicodedata.is_normalized("NFC", name[: end + 1])
    )
    problem = f"{_place(name, at)}, so it is not in Unicode's form NFC, which looks the same"
    return Lookalike(
        problem, f"write {composed!a} (NFC), unless the name really has the other form"
    )


def _out_of_place(name: str) -> Iterator[Lookalike]:
    """Judge letters by the others: of a word with several alphabets, and of a whole alphabet."""
    letters = [
        (at, alphabet)
        for at, character in enumerate(name)
        if character.isalpha() and (alphabet := _alphabet(character)) is not None
    ]
    alphabets = dict(letters)
    for word in _WORD.finditer(name):
        within = [(at, alphabets[at]) for at in range(*word.span()) if at in alphabets]
        expected = "LATIN" if any(one == "LATIN" for _, one in within) else None
        for at, alphabet in within:
            expected = expected or alphabet
            if alphabet != expected:
                yield _mixed(name, at, expected)
    for other in sorted(set(alphabets.values()) - {"LATIN"}):
        of_it = [at for at, alphabet in letters if alphabet == other]
        if all(name[at] in _LETTERS for at in of_it):
            yield _taken_for(name, of_it[0], _LETTERS[name[of_it[0]]])


def _mixed(name: str, at: int, alphabet: str) -> Lookalike:
    if (plain := _LETTERS.get(name[at])) is not None:
        return _taken_for(name, at, plain)
    problem = f"{_place(name, at)}, in a word with letters of the {alphabet.title()} alphabet"
    return Lookalike(problem, "write each word in one alphabet, unless the name really is so")


def _taken_for(name: str, at: int, plain: str) -> Lookalike:
    return Lookalike(
        f"{_place(name, at)}, which looks like {plain!r}",
        f"write {plain!r}, unless the name really has the other character",
    )


def _place(name: str, at: int) -> str:
    character = name[at]
    called = unicodedata.name(character, "CONTROL CHARACTER")
    return f"{name!r} contains U+{ord(character):04X} {called} as character {at + 1}"


def _alphabet(character: str) -> str | None:
    """Return the alphabet of a letter if it is one of those that share shapes."""
    first = unicodedata.name(character, "").partition(" ")[0]
    return first if first in _ALPHABETS else None
