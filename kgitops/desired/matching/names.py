"""Names that are probably misspelt, because a similar one exists."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_NEAR = 0.8
_LONG_WORD = 5
_SEPARATORS = re.compile(r"[._-]")


def near_spelling(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelled most like ``name``; None if none is near."""
    near = get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)
    return near[0] if near else None


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which ``name`` is a typing error, beyond reasonable doubt.

    In a word of some length one letter is wrong, missing or too many, or two are swapped; or only
    case and separators differ. Names that differ by a digit are those of different things, and so
    are those that differ in a short word: ``orders.uk``, ``orders.us``.
    """
    written = _folded(name)
    return next((one for one in sorted(known) if _is_one_slip(written, _folded(one))), None)


def _folded(name: str) -> str:
    return _SEPARATORS.sub(".", name.casefold())


def _is_one_slip(written: str, meant: str) -> bool:
    if written == meant:
        return True
    more = len(written) - len(meant)
    if abs(more) > 1:
        return False
    pairs = enumerate(zip(written, meant, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(written), len(meant)))
    one, other = written[at:], meant[at:]
    if one[:1].isdigit() or other[:1].isdigit() or _word_at(meant, at) < _LONG_WORD:
        return False
    if more:
        return one[1:] == other if more > 0 else one == other[1:]
    return one[1:] == other[1:] or (one[1::-1] == other[:2] and one[2:] == other[2:])


def _word_at(name: str, at: int) -> int:
    """Return the length of the word that has the character."""
    end = name.find(".", at)
    return (len(name) if end < 0 else end) - (name.rfind(".", 0, at) + 1)
