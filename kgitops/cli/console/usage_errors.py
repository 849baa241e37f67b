"""What the command-line parser found wrong, as one of our sentences."""

import re
from collections.abc import Sequence
from typing import Any

from kgitops.cli.console.hints import COMMANDS, GLOBAL_OPTIONS, OPTIONS
from kgitops.model.errors import UsageError

_GUESS = re.compile(r"\.? (?:Did you mean (?P<word>.*)\?|\(Possible options: (?P<options>.*)\))$")
_NO_COMMAND = re.compile(r"no such command ['\"](?P<word>.*)['\"]$")
_TOO_MANY = re.compile(r"got unexpected extra arguments?(?:\(s\))? \((?P<words>.*)\)$")
_SAID_BY = re.compile(r"(?<=: )(?:Value error, |Input should be (?=an? |greater|less))")
_PLAIN = {
    "a valid integer, unable to parse string as an integer": "it must be a whole number",
    "a valid number, unable to parse string as a number": "it must be a number",
    "greater than or equal to": "it must be at least",
    "less than or equal to": "it must be at most",
}


def usage_error(error: Exception, words: Sequence[str]) -> UsageError | None:
    """The parser's complaint about ``words``; None where the error is not the parser's."""
    describe: Any = getattr(error, "format_message", None)
    if describe is None:
        return None
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context else _command(words)
    text = _SAID_BY.sub("", str(describe()).strip())
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    advice = f"see {command} --help"
    if guess := _GUESS.search(text):
        text = text[: guess.start()]
        near = guess["word"] or guess["options"]
        advice = f"did you mean {near.replace(chr(39), '').replace(', ', ' or ')}? {advice}"
    text = text.rstrip(".").replace(". ", ", ")
    text = f"{text[:1].lower()}{text[1:]}"
    return UsageError("; ".join(_told(text, advice, error, context, command)))


def _told(
    text: str,
    advice: str,
    error: Exception,
    context: Any,  # noqa: ANN401 (click's own)
    command: str,
) -> tuple[str, str]:
    """The problem and the advice, in the words of what was meant where that is known."""
    option = getattr(error, "option_name", None)
    if option in GLOBAL_OPTIONS:
        written = f"kgitops {GLOBAL_OPTIONS[option]}{command.removeprefix('kgitops')}"
        return f"{option} stands before the command", f"write {written}"
    if option in OPTIONS:
        return text, OPTIONS[option]
    if (unknown := _NO_COMMAND.match(text)) and unknown["word"] in COMMANDS:
        in_a_group = " " in command
        return text, advice if in_a_group else COMMANDS[unknown["word"]]
    if too_many := _TOO_MANY.match(text):
        return f"this is too much: {too_many['words']}", f"drop it, {advice}"
    if text == "missing command":
        return "a command is missing", f"give one of {', '.join(context.command.commands)}"
    return text, advice


def _command(words: Sequence[str]) -> str:
    """The command that ``words`` begin with, as far as it can be told without parsing them."""
    names = [word for word in words[:2] if not word.startswith("-")]
    groups = ("fleet", "policy", "sandbox", "vc")
    return " ".join(("kgitops", *(names if names[:1] and names[0] in groups else names[:1])))
