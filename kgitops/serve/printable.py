"""Clients' words as they may be in logs: no line of their own, and no order to a terminal."""

_LONGEST = 300


def printable(text: str) -> str:
    """The text with a question mark for each control character, and not too long."""
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return "".join(sign if sign.isprintable() else "?" for sign in short)


def printable_json(text: str) -> str:
    """JSON that means the same, with an escape for each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def _escaped(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
