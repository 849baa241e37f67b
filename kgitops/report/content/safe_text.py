r"""Untrusted text made harmless: names, reasons and values come from manifests and clusters.

What could act on a terminal, hide or reorder text is shown as an escape (``\x1b``, ``\u202e``).
In Markdown every such text is in a code span or a fence, where nothing is a link, a mention,
HTML or markup. JSON needs none of this: its encoder escapes.
"""

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from kgitops.desired.lookalikes import is_hidden
from kgitops.model.wording import shortened

# Commands of build services: ##[…], ##vso[…] and ##teamcity[…] act anywhere in a line.
_SERVICE_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
_LINE_COMMAND = re.compile(r"^(\s*):(?=:)")
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BACKTICKS = re.compile(r"`+")
_LONGEST = 1_000
_RESET = "\x1b[0m"


def terminal_text(text: str, *, ascii_only: bool = False) -> str:
    """``text`` on one line, without anything that acts, hides or reorders."""
    if not text.isascii() or not text.isprintable():
        text = _escape(text, ascii_only)
    if "##" in text:
        text = _SERVICE_COMMAND.sub(r"#\\x23", text)
    return text


def guarded_line(line: str) -> str:
    """A whole line of output, such that no build service reads ``::command::`` at its start."""
    return _LINE_COMMAND.sub(r"\1\\x3a", line) if ":" in line else line


def code_span(text: str) -> str:
    """``text`` as a code span of Markdown: literal, on one line."""
    safe = shortened(terminal_text(text), _LONGEST) or "(empty)"
    ticks = "`" * (longest_run(safe) + 1)
    # A span may not begin or end with its delimiter; one blank on both sides is not shown.
    pad = " " if safe.startswith(("`", " ")) or safe.endswith(("`", " ")) else ""
    return f"{ticks}{pad}{safe}{pad}{ticks}"


def fenced(lines: Sequence[str], info: str) -> str:
    """``lines``, safe on their own, in a fence that none of them can close."""
    longest = max(map(longest_run, lines), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((f"{fence}{info}", *lines, fence))


def longest_run(text: str) -> int:
    """The longest run of backticks in ``text``."""
    return max(map(len, _BACKTICKS.findall(text)), default=0) if "`" in text else 0


def comment_token(text: str) -> str:
    """``text`` inside an HTML comment: letters, digits, ``.`` and ``_``, the rest as ``%XX``."""
    return re.sub(
        r"[^A-Za-z0-9._]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace")),
        text,
    )


@lru_cache(maxsize=4096)
def _escape(text: str, ascii_only: bool) -> str:
    shown = []
    marks = 0
    for char in text:
        # One combining mark is an accent; a pile of them covers the neighbouring lines.
        marks = marks + 1 if unicodedata.category(char) == "Mn" else 0
        hidden = is_hidden(char) or marks > 1 or (ascii_only and not char.isascii())
        shown.append(_escaped(char) if hidden else char)
    return "".join(shown)


def _escaped(char: str) -> str:
    code = ord(char)
    if short := _SHORT_ESCAPES.get(char):
        return short
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


class Style(StrEnum):
    """The look of a part on a terminal; words always say the same."""

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


def in_columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Cells of one row, each as wide as its column."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def render_lines(lines: Sequence[Line], *, colour: bool, ascii_only: bool) -> str:
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
