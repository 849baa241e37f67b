"""Lines of text whose parts may be coloured; every part is made harmless on the way out."""

from collections.abc import Sequence
from enum import StrEnum

from kgitops.report.content.safe_text import guarded_line, terminal_text

_RESET = "\x1b[0m"


class Style(StrEnum):
    """How a part looks on a terminal; what it means is always said in words as well."""

    PLAIN = ""
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    RED = "\x1b[31m"
    GREEN = "\x1b[32m"
    YELLOW = "\x1b[33m"
    CYAN = "\x1b[36m"
    RED_BOLD = "\x1b[1;31m"
    YELLOW_BOLD = "\x1b[1;33m"


Part = str | tuple[Style, str]
Line = Sequence[Part]


def ink(lines: Sequence[Line], *, colour: bool, ascii_only: bool) -> str:
    """The lines as text, with ANSI colours only when asked for."""
    return "".join(f"{_line(line, colour, ascii_only)}\n" for line in lines)


def _line(line: Line, colour: bool, ascii_only: bool) -> str:
    parts = [(Style.PLAIN, part) if isinstance(part, str) else part for part in line]
    safe = [(style, terminal_text(text, ascii_only=ascii_only)) for style, text in parts]
    plain = "".join(text for _, text in safe).rstrip()
    guarded = guarded_line(plain)
    if not colour or guarded != plain:
        return guarded
    return "".join(f"{style}{text}{_RESET}" if style else text for style, text in safe).rstrip()
