"""The pieces of every picture as SVG: elements, curves between boxes, and texts that fit."""

from html import escape

from kgitops.model.wording import shortened
from kgitops.report.content.safe_text import terminal_text

_LONGEST = 400


def element(name: str, *content: str, **attributes: object) -> str:
    """An element; ``stroke_width`` becomes stroke-width. The content is SVG, or escaped text."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    inner = "".join(content)
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


def label(text: str) -> str:
    """A text of others on one line, without hidden characters, escaped."""
    return escape(shortened(terminal_text(text), _LONGEST))


def fitting(text: str, most: int, end: int) -> str:
    """So many characters of the text at most, of which ``end`` are its last, escaped."""
    shown = shortened(terminal_text(text), _LONGEST)
    if len(shown) > most:
        shown = f"{shown[: most - end - 1]}…{shown[-end:]}"
    return escape(shown)


def curve(x1: int, y1: int, x2: int, y2: int, bend: int) -> str:
    """The path of a line that leaves one box and enters another level."""
    return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
