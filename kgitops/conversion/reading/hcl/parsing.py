"""The blocks of a file in HCL, with its comments."""

from collections.abc import Iterable, Iterator
from functools import cache

from lark import Lark, Token, Tree
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
_ADVICE = "give its variables values, or convert the state file"


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
        return HclFile(empty, _EMPTY, (broken_document(text, found.name),))
    try:
        with without_garbage_collection():
            tree = _parser().parse(text.text + "\n")
        _check_depth(tree)
    except LarkError as error:
        index = max(getattr(error, "pos_in_stream", None) or 0, 0)
        finding = Finding(
            source=text.place(min(index, len(text.text))),
            problem="the file is not HCL from here on",
            advice="correct it, as `terraform validate` tells",
        )
        source = SourceFile(text, found.relative, Comments(), _ADVICE)
        return HclFile(source, _EMPTY, (broken_document(finding, found.name),))
    comments = Comments(_comments(tree, text.text))
    source = SourceFile(text, found.relative, comments, _ADVICE, budget=Budget(len(text.text)))
    return HclFile(source, _block("", (), _tree(tree.children[0]), 0, len(text.text)))


@cache
def _parser() -> Lark:
    """python-hcl2's parser, which keeps its tables on the disk.

    Without positions in its trees it is twice as fast; ``span`` finds the few that are asked.
    """
    from hcl2.parser import parser  # noqa: PLC0415 (0.2 s with what it imports)
    from hcl2.postlexer import PostLexer  # noqa: PLC0415
    from lark.grammar import Rule  # noqa: PLC0415
    from lark.lexer import TerminalDef  # noqa: PLC0415

    tables, memo = parser().memo_serialize([TerminalDef, Rule])
    fast: Lark = Lark._load_from_dict(  # type: ignore[no-untyped-call]  # noqa: SLF001
        tables, memo, propagate_positions=False, postlex=PostLexer()
    )
    return fast


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


_EMPTY = HclBlock("", (), {}, (), 0, 0)


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
