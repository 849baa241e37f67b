"""What the command-line parser found wrong, as one of our sentences."""

import re
from typing import Any

from kgitops.model.errors import UsageError

_GUESS = re.compile(r"\.? (?:Did you mean (?P<word>.*)\?|\(Possible options: (?P<options>.*)\))$")
_SAID_BY = re.compile(r"(?<=: )(?:Value error, |Input should be (?=an? |greater|less))")
_PLAIN = {
    "a valid integer, unable to parse string as an integer": "it must be a whole number",
    "a valid number, unable to parse string as a number": "it must be a number",
    "greater than or equal to": "it must be at least",
    "less than or equal to": "it must be at most",
}


def usage_error(error: Exception) -> UsageError | None:
    """The parser's complaint; None where the error is not the parser's."""
    describe: Any = getattr(error, "format_message", None)
    if describe is None:
        return None
    context: Any = getattr(error, "ctx", None)
    text = _SAID_BY.sub("", str(describe()).strip())
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    advice = f"see {context.command_path if context else 'kgitops'} --help"
    if guess := _GUESS.search(text):
        text = text[: guess.start()]
        near = guess["word"] or guess["options"]
        advice = f"did you mean {near.replace(chr(39), '').replace(', ', ' or ')}? {advice}"
    text = text.rstrip(".").replace(". ", ", ")
    return UsageError(f"{text[:1].lower()}{text[1:]}; {advice}")
