"""Markdown made shorter without leaving anything open."""

import re

COMMENT_LIMIT = 65_536
"""Characters of a comment or an issue; counted in UTF-8 bytes here, which are never fewer."""

SUMMARY_LIMIT = 1_000_000

_TAG = re.compile(r" {0,3}</?(?:details|summary)\b")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def bounded(markdown: str, limit: int, pointer: str) -> str:
    """The text, or as many of its lines as fit and ``pointer``, which stands outside of fences.

    A fence that the cut would leave open is closed, and so is what is folded.
    """
    if _size(markdown) <= limit:
        return markdown
    kept: list[str] = []
    fence = ""
    html = False
    folded = 0
    # Room for the longest way out: a closing fence and one closing tag a fold.
    left = limit - _size(pointer) - 4
    for line in markdown.split("\n"):
        # What follows a tag without a blank line is HTML, where no fence begins (CommonMark 4.6).
        html = not fence and bool(line.strip()) and (html or bool(_TAG.match(line)))
        next_fence = fence if html else _after(line, fence)
        opened = folded + (0 if fence else line.count("<details>") - line.count("</details>"))
        closing = _size(_ending(next_fence, opened))
        if _size(line) + 1 + closing > left:
            break
        kept.append(line)
        left -= _size(line) + 1
        fence, folded = next_fence, opened
    return "\n".join((*kept, _ending(fence, folded), "", pointer))


def fenced(text: str) -> str:
    """Text of others, in a fence that it can't close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def _after(line: str, fence: str) -> str:
    """The fence that is open after ``line``, empty for none (CommonMark 4.5)."""
    found = _FENCE.fullmatch(line)
    if not found:
        return fence
    run, rest = found.groups()
    if not fence:
        return "" if run.startswith("`") and "`" in rest else run
    closes = run[0] == fence[0] and len(run) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _ending(fence: str, folded: int) -> str:
    closing = f"{fence}\n" if fence else ""
    return closing + "\n</details>\n" * max(folded, 0)


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
