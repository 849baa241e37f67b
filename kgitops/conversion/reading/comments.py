"""Comments of a YAML file, and the lines that each value stands on."""

import re
from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

from kgitops.manifests.yaml.document import MappingNode, Node, ScalarNode, SequenceNode

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)
_WORDS = (
    r"pass(word|wd|phrase)?s?|pwd?|secrets?|tokens?|(api|access|secret)[_.-]?keys?|credentials?|"
    r"private[_.-]?keys?|jaas"
)
# A word for a secret and, after it, what may be one; keys and logins by their looks.
_SECRET = re.compile(
    rf"(?<![A-Za-z])({_WORDS})[\w.-]*['\"]?\s*([:=]|->|\bis\b|\bare\b|\bwas\b)\s*\S"
    rf"|_({_WORDS})['\"]?\s*[:=]\s*\S"
    r"|\b(pw|pwd|password)\s+\S*\d"
    r"|://[^/\s:@]+:[^/\s@]+@|-----BEGIN|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{10,}\.|\bgh[a-z]_\w{20,}",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(rf"(^|[^A-Za-z])({_WORDS})$", re.IGNORECASE)
_OF_FILE = "yaml-language-server:"
"""An editor reads the comment above all documents."""
LEFT_OUT = "(a comment that may hold a secret is left out)"


class Comment(Struct, frozen=True):
    """A comment's text without ``#``; ``alone`` if nothing else is on its line."""

    line: int
    text: str
    alone: bool


class Comments:
    """The comments of a file; each is taken by one object, and the rest stay with the file."""

    def __init__(self, comments: Iterable[Comment] = ()) -> None:
        self._by_line = {comment.line: comment for comment in comments}

    def take(self, first: int, last: int) -> tuple[str, ...]:
        """The comments right above line ``first``, and those up to the line ``last``."""
        start = first
        while (above := self._by_line.get(start - 1)) is not None and above.alone:
            start -= 1
        comments = [self._by_line.get(line) for line in range(start, last + 1)]
        taken = [it for it in comments if it and not it.text.startswith(_OF_FILE)]
        self.drop(it.line for it in taken)
        return tuple(it.text for it in taken)

    def drop(self, lines: Iterable[int]) -> None:
        """Forget the comments on these lines."""
        for line in lines:
            self._by_line.pop(line, None)

    def rest(self) -> tuple[str, ...]:
        """The comments that no object took."""
        return tuple(comment.text for _, comment in sorted(self._by_line.items()))


def find_comments(text: str, scalars: list[tuple[int, int]]) -> list[Comment]:
    """The comments in ``text``, whose scalars have these spans of characters, in order."""
    starts = [start for start, _ in scalars]
    found = []
    line, counted_to = 1, 0
    for match in _COMMENT.finditer(text):
        index = match.start()
        before = bisect_right(starts, index) - 1
        if before >= 0 and index < scalars[before][1]:
            continue  # in a text
        line += text.count("\n", counted_to, index)
        counted_to = index
        line_start = text.rfind("\n", 0, index) + 1
        found.append(Comment(line, shown_comment(match[0]), not text[line_start:index].strip()))
    return found


def shown_comment(text: str) -> str:
    """The comment without its sign; one that may hold a secret is only told of."""
    return LEFT_OUT if _SECRET.search(text) else text.lstrip("#/").strip()


def is_secret_name(key: str) -> bool:
    """Return whether the value under ``key`` may be a secret: ``db_password``, ``api-key``."""
    return _SECRET_NAME.search(key) is not None


def scalar_spans(root: Node | None, offset: int) -> list[tuple[int, int]]:
    """The characters of every scalar below ``root``, in order."""
    spans = []
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if isinstance(node, ScalarNode):
            spans.append((offset + node.start_mark.index, offset + node.end_mark.index))
        elif isinstance(node, MappingNode | SequenceNode) and id(node) not in seen:
            seen.add(id(node))
            stack += _children(node)
    return sorted(spans)


def last_index(node: Node) -> int:
    """The last character of ``node`` in its text; a block's own mark is after the comments."""
    last, stack, seen = node.start_mark.index, [node], set()
    while stack:
        item = stack.pop()
        if isinstance(item, MappingNode | SequenceNode) and not item.flow_style:
            if id(item) not in seen:
                seen.add(id(item))
                stack += _children(item)
        else:
            last = max(last, item.end_mark.index - 1)
    return last


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value)
