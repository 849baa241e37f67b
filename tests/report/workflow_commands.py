"""Reads a log as GitHub's runner does (actions/runner, src/Runner.Common/ActionCommand.cs)."""

import re

from msgspec import Struct, field

REGISTERED = {
    "add-mask",
    "add-matcher",
    "add-path",
    "debug",
    "echo",
    "endgroup",
    "error",
    "group",
    "notice",
    "remove-matcher",
    "save-state",
    "set-env",
    "set-output",
    "stop-commands",
    "warning",
}
_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))


class Command(Struct, frozen=True):
    """One command that the runner would carry out."""

    name: str
    message: str
    properties: dict[str, str] = field(default_factory=dict)


def commands(log: str) -> list[Command]:
    """Every command in the log; the runner reads line by line."""
    lines = log.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = map(_command, lines)
    return [command for command in found if command]


def _command(line: str) -> Command | None:
    stripped = line.lstrip()
    if stripped.startswith("::") and (end := stripped.find("::", 2)) >= 0:
        name, _, rest = stripped[2:end].partition(" ")
        if name.lower() in REGISTERED:
            pairs = (pair.split("=", 1) for pair in rest.strip().split(",") if pair)
            properties = {pair[0]: _undo(pair[1], _PROPERTY) for pair in pairs if len(pair) == 2}
            return Command(name, _undo(stripped[end + 2 :], _DATA), properties)
    # The old form acts anywhere in a line.
    if old := re.search(r"##\[([^\s\]]+)[^\]]*\]", line):
        return Command(f"##{old[1]}", line)
    return None


def _undo(text: str, mappings: tuple[tuple[str, str], ...]) -> str:
    for escaped, plain in mappings:
        text = text.replace(escaped, plain)
    return text
