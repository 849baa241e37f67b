"""The blocks of a file in HCL, with its comments."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from lark import Token, Tree
from lark.exceptions import LarkError
from msgspec import Struct

from kgitops.conversion.objects import SourceObject
from kgitops.conversion.reading.budget import Budget
from kgitops.conversion.reading.comments import Comment, Comments, shown_comment
from kgitops.conversion.reading.folder import FoundFile, broken_document, read_source
from kgitops.conversion.reading.values import SourceFile
from kgitops.manifests.yaml.document import SourceText
from kgitops.model.garbage_collection import without_garbage_collection
from kgitops.model.source import Finding

Syntax = Tree[Token]
_DEEPEST = 150
ADVICE = "give its variables values (--var-file), or convert the state file"


class HclBlock(Struct, frozen=True):
    """``resource "kafka_topic" "orders" {…}``: its type, its labels, and the characters it takes.

    ``attributes`` are expressions by their names; ``blocks`` are those inside it.
    """

    type: str
    labels: tuple[str, ...]
    attributes: dict[str, Syntax]
    blocks: tuple["HclBlock", ...]
    start: int
    end: int


class HclFile(Struct, frozen=True):
    """A file, and ``root``, the block that stands for all of it; ``broken`` if it is no HCL."""

    file: SourceFile
    root: HclBlock
    broken: tuple[SourceObject, ...] = ()


def read_hcl(found: FoundFile) -> HclFile:
    """The blocks of a file."""
    text = read_source(found)
    if isinstance(text, Finding):
        empty = SourceFile(SourceText(found.name, ""), found.relative, Comments())
        return HclFile(empty, EMPTY, (broken_document(text, found.name),))
    try:
        tree = _parsed(text.text)
    except LarkError as error:
        index = max(getattr(error, "pos_in_stream", None) or 0, 0)
        finding = Finding(
            source=text.place(min(index, len(text.text))),
            problem="the file is not HCL from here on",
            advice="correct it, as `terraform validate` tells",
        )
        source = SourceFile(text, found.relative, Comments(), ADVICE)
        return HclFile(source, EMPTY, (broken_document(finding, found.name),))
    comments = Comments(_comments(tree, text.text))
    source = SourceFile(text, found.relative, comments, ADVICE, budget=Budget(len(text.text)))
    return HclFile(source, _block("", (), _tree(tree.children[0]), 0, len(text.text)))


def _parsed(text: str) -> Syntax:
    """The tree of a text, by python-hcl2; a line break is added to its end.

    Raises:
        LarkError: it is no HCL, or is nested too deeply.
    """
    from hcl2 import parses_to_tree  # noqa: PLC0415 (0.2 s with what it imports)

    with without_garbage_collection():
        tree: Syntax = parses_to_tree(text)
    _check_depth(tree)
    return tree


@lru_cache(maxsize=1000)
def parsed_expression(text: str) -> Syntax:
    """The tree of an expression, such as the value of a variable in the environment.

    Raises:
        ValueError: it is none.
    """
    try:
        body = _tree(_parsed(f"x = {text}").children[0])
    except LarkError as error:
        raise ValueError(text) from error
    attributes = [child for child in _trees(body) if child.data == "attribute"]
    if len(attributes) != 1 or len(list(_trees(body))) > 2:
        raise ValueError(text)
    return _tree(attributes[0].children[-1])


def parsed_template(text: str) -> Syntax:
    """The tree of a template that is a whole text: a heredoc, a file, or a string of JSON.

    Raises:
        ValueError: it is none.
    """
    return parsed_expression(f'"{"".join(_quoted(text))}"')


_QUOTED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SEQUENCE = re.compile(r"\$\$\{|%%\{|\$\{|%\{")


def _quoted(text: str) -> Iterator[str]:
    """The text for between quotes: `${…}` and `%{…}` unchanged, the rest escaped."""
    start = 0
    while (found := _SEQUENCE.search(text, start)) is not None:
        yield "".join(_QUOTED.get(sign, sign) for sign in text[start : found.start()])
        end = found.end() if len(found[0]) > 2 else _sequence_end(text, found.end())
        yield text[found.start() : end]
        start = end
    yield "".join(_QUOTED.get(sign, sign) for sign in text[start:])


def _sequence_end(text: str, start: int) -> int:
    """The index after the brace that closes a sequence, whose inside begins at ``start``."""
    depth = 1
    index = start
    while index < len(text):
        if text[index] == '"':
            index = _string_end(text, index + 1)
            continue
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        index += 1
        if not depth:
            return index
    raise ValueError(text)


def _string_end(text: str, start: int) -> int:
    index = start
    while index < len(text):
        if text[index] == '"':
            return index + 1
        sequence = _SEQUENCE.match(text, index)
        if text[index] == "\\":
            index += 2
        elif sequence is not None and len(sequence[0]) == 2:
            index = _sequence_end(text, sequence.end())
        else:
            index = sequence.end() if sequence is not None else index + 1
    raise ValueError(text)


def span(tree: Syntax) -> tuple[int, int]:
    """The characters that an expression or a block takes: its first, and the one after its last."""
    first, last = _end_token(tree, 1), _end_token(tree, -1)
    if first is None or last is None:
        return 0, 0
    return first.start_pos or 0, last.end_pos or 0


def _end_token(tree: Syntax, step: int) -> Token | None:
    """The first token of the tree, or the last if ``step`` is -1."""
    children: Iterable[Syntax | Token] = tree.children[::step]
    for child in children:
        token = child if isinstance(child, Token) else _end_token(child, step)
        if token is not None:
            return token
    return None


def _check_depth(tree: Syntax) -> None:
    """Refuse what would overrun Python's stack, as expressions are evaluated by recursion."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [child for item in level for child in _trees(item)]
    if level:
        raise LarkError("nested too deeply")


EMPTY = HclBlock("", (), {}, (), 0, 0)


def _block(kind: str, labels: tuple[str, ...], body: Syntax, start: int, end: int) -> HclBlock:
    attributes: dict[str, Syntax] = {}
    blocks: list[HclBlock] = []
    for child in _trees(body):
        if child.data == "attribute":
            attributes[_text(child.children[0])] = _tree(child.children[-1])
        elif child.data == "block":
            names = [
                _text(item)
                for item in _trees(child)
                if item.data not in ("body", "new_line_or_comment")
            ]
            inner = next(item for item in _trees(child) if item.data == "body")
            at, to = span(child)
            blocks.append(_block(names[0], tuple(names[1:]), inner, at, to))
    return HclBlock(kind, labels, attributes, tuple(blocks), start, end)


def _tree(node: Syntax | Token) -> Syntax:
    assert isinstance(node, Tree)  # noqa: S101 (by the grammar)
    return node


def _trees(tree: Syntax) -> Iterator[Syntax]:
    return (child for child in tree.children if isinstance(child, Tree))


def _text(node: Syntax | Token) -> str:
    """A name, or a label without its quotes."""
    return written(node).strip('"')


def written(node: Syntax | Token) -> str:
    """An expression as it is written, on one line."""
    tokens = [node] if isinstance(node, Token) else list(node.scan_values(lambda _: True))
    texts: list[str] = []
    end = 0
    for token in tokens:
        start = token.start_pos or 0
        texts += [" ", str(token)] if texts and start > end else [str(token)]
        end = token.end_pos or 0
    return " ".join("".join(texts).split())


def _comments(tree: Syntax, text: str) -> Iterator[Comment]:
    for token in tree.scan_values(lambda _: True):
        sign = str(token)[:2]
        if token.type != "NL_OR_COMMENT" or not sign.startswith(("#", "/")):
            continue
        start = token.start_pos or 0
        line_start = text.rfind("\n", 0, start) + 1
        alone = not text[line_start:start].strip()
        content = str(token).strip()
        if sign == "/*":
            content = content.removeprefix("/*").removesuffix("*/")
        for number, line in enumerate(content.splitlines(), start=token.line or 1):
            if shown := shown_comment(line.strip().lstrip("*")):
                yield Comment(number, shown, alone)
