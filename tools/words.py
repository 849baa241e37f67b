"""Finds phrases that plain English has a shorter word for, in the product and its documents.

    python tools/words.py            fails for a new place, and for a line that is not needed
    python tools/words.py --write    writes the list of the places that are left

The places from before this rule are counted in ``words.txt``, by file; the list only gets shorter.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".txt")
PLACES = (
    *("kgitops/**/*.py", "docs/**/*.md", "examples/**/*.md", ".github/**/*.md"),
    *("README.md", "CHANGELOG.md", "SECURITY.md"),
)
PHRASES: Mapping[str, str] = {
    "is told": "is reported",
    "are told": "are reported",
    "tells of": "reports",
    "says so": "reports it",
    "whoever": "the user, the client, the project",
    "somebody": "another user, another client",
    "anybody": "anyone",
    "nobody's": "without an owner",
    "Tell if": "Return whether",
    "Tell whether": "Return whether",
    "anew": "again",
    "in silence": "silently",
    "for ever": "forever",
    "goes on": "continues",
    "go on": "continue",
    "as it stands": "unchanged",
    "as it is": "unchanged",
    "as they are": "unchanged",
    "lets in": "accepts",
    "just now": "currently",
    "by then": "before that",
    "from then on": "after that",
    "can't be had": "isn't available",
    "is had": "is available",
    "no part of": "not in",
    "of theirs": "their",
    "mended": "fixed",
    "in vain": "without effect",
}
_ANY = re.compile(rf"\b({'|'.join(map(re.escape, PHRASES))})\b", re.IGNORECASE)
_BY_FOLDED = {phrase.casefold(): phrase for phrase in PHRASES}


def places(text: str) -> Iterator[tuple[int, str]]:
    """The line of each phrase, and the phrase as ``PHRASES`` has it; it may cross a line's end."""
    joined = re.sub(r"\s", " ", text)
    for match in _ANY.finditer(joined):
        yield text.count("\n", 0, match.start()) + 1, _BY_FOLDED[match[1].casefold()]


def problems(
    found: Mapping[str, list[tuple[int, str]]], listed: Mapping[str, int]
) -> Iterator[str]:
    """Files with more places than are listed, each place named; lines of the list with too many."""
    for file in sorted({*found, *listed}):
        here, before = found.get(file, []), listed.get(file, 0)
        if len(here) > before:
            shown = "; ".join(f"{line}: '{it}', write '{PHRASES[it]}'" for line, it in here)
            yield f"{file}: {len(here)} phrases to replace, {before} are listed ({shown})"
        elif len(here) < before:
            yield (
                f"{file}: {before} phrases are listed, {len(here)} are left; "
                "run python tools/words.py --write"
            )


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--write", action="store_true", help="write the list")
    files = sorted({file for place in PLACES for file in ROOT.glob(place)})
    found = {
        str(file.relative_to(ROOT)): here
        for file in files
        if (here := list(places(file.read_text("utf-8"))))
    }
    if options.parse_args().write:
        LIST.write_text("".join(f"{file} {len(here)}\n" for file, here in found.items()))
        return 0
    lines = [line.rsplit(" ", 1) for line in LIST.read_text("utf-8").splitlines()]
    wrong = list(problems(found, Counter({file: int(count) for file, count in lines})))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
