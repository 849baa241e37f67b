"""Terraform's files in JSON, `.tf.json` and `.tfvars.json`, as the same blocks that HCL has."""

from collections.abc import Iterator, Sequence
from enum import Enum, auto

from lark import Token, Tree

from kgitops.conversion.reading.budget import Budget
from kgitops.conversion.reading.comments import Comments
from kgitops.conversion.reading.folder import FoundFile, broken_document, read_source
from kgitops.conversion.reading.hcl.parsing import (
    ADVICE,
    EMPTY,
    HclBlock,
    HclFile,
    Syntax,
    parsed_expression,
    parsed_template,
)
from kgitops.conversion.reading.values import SourceFile
from kgitops.manifests.yaml.document import MappingNode, Node, ScalarNode, SequenceNode, SourceText
from kgitops.manifests.yaml.parse import compose_file
from kgitops.model.source import Finding

_LABELS = {
    "resource": 2,
    "data": 2,
    "ephemeral": 2,
    "variable": 1,
    "output": 1,
    "module": 1,
    "provider": 1,
    "check": 1,
    "action": 2,
}
"""The number of names that a block has before its body; others have none."""
_BLOCKS = frozenset(
    {
        "backend",
        "cloud",
        "connection",
        "credentials",
        "dynamic",
        "kafka_cluster",
        "lifecycle",
        "oauth",
        "postcondition",
        "precondition",
        "provider_meta",
        "provisioner",
        "required_providers",
        "timeouts",
        "validation",
    }
)
"""Keys whose mappings are blocks; all others are attributes."""
_NAMES = frozenset(
    {"depends_on", "ignore_changes", "provider", "providers", "replace_triggered_by"}
)
_NAMES_OF = {"variable": {"type"}, "removed": {"from"}, "moved": {"from", "to"}, "import": {"to"}}
"""Attributes whose texts are names of HCL, not templates."""
_COMMENT = "//"


def read_json(found: FoundFile, *, templates: bool = True) -> HclFile:
    """The blocks of a file; in one of variables (not ``templates``) each text is its value."""
    text = read_source(found)
    if isinstance(text, Finding):
        empty = SourceFile(SourceText(found.name, ""), found.relative, Comments())
        return HclFile(empty, EMPTY, (broken_document(text, found.name),))
    findings: list[Finding] = []
    roots = [root for root, _ in compose_file(text, findings) if root is not None]
    source = SourceFile(text, found.relative, Comments(), ADVICE, budget=Budget(len(text.text)))
    if not findings and (len(roots) != 1 or not isinstance(roots[0], MappingNode)):
        problem = "the file is no mapping in JSON"
        findings = [Finding(source=text.place(0), problem=problem, advice="correct it there")]
    if findings:
        return HclFile(source, EMPTY, tuple(broken_document(it, found.name) for it in findings))
    root = roots[0]
    if not templates:
        attributes = {key: _expression(node, _Text.PLAIN) for key, _, node in _entries(root)}
        return HclFile(source, HclBlock("", (), attributes, (), 0, len(text.text)))
    blocks = [block for key, _, node in _entries(root) for block in _blocks(key, node)]
    return HclFile(source, HclBlock("", (), {}, tuple(blocks), 0, len(text.text)))


def _entries(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """The keys of a mapping, with the nodes of key and value; those that are comments are left."""
    for key, value in node.value if isinstance(node, MappingNode) else ():
        if str(key.value) != _COMMENT:
            yield str(key.value), key, value


def _blocks(kind: str, node: Node, labels: tuple[str, ...] = ()) -> Iterator[HclBlock]:
    """The blocks under a key: a body or a list of bodies, below as many names as the kind has."""
    if isinstance(node, SequenceNode):
        for item in node.value:
            yield from _blocks(kind, item, labels)
    elif len(labels) < _LABELS.get(kind, 0):
        for name, _, inner in _entries(node):
            yield from _blocks(kind, inner, (*labels, name))
    else:
        yield _block(kind, labels, node)


def _block(kind: str, labels: tuple[str, ...], node: Node) -> HclBlock:
    attributes: dict[str, Syntax] = {}
    blocks: list[HclBlock] = []
    for key, _, value in _entries(node):
        if key in _BLOCKS and _is_body(value):
            blocks += _blocks(key, value)
        else:
            is_name = key in _NAMES or key in _NAMES_OF.get(kind, ())
            attributes[key] = _expression(value, _Text.NAME if is_name else _Text.TEMPLATE)
    start, end = node.start_mark.index, node.end_mark.index
    return HclBlock(kind, labels, attributes, tuple(blocks), start, end)


def _is_body(node: Node) -> bool:
    """Return whether it is a mapping, or a list of mappings."""
    items = node.value if isinstance(node, SequenceNode) else [node]
    return bool(items) and all(isinstance(item, MappingNode) for item in items)


class _Text(Enum):
    """The meaning of a text: a template, names of HCL, or the text itself."""

    TEMPLATE = auto()
    NAME = auto()
    PLAIN = auto()


def _expression(node: Node, meaning: _Text) -> Syntax:
    """The tree that python-hcl2 would make of the same expression in HCL."""
    if isinstance(node, SequenceNode):
        items = [_expression(item, meaning) for item in node.value]
        return _term("tuple", [_token(node, "["), *items, _token(node, "]")])
    if isinstance(node, MappingNode):
        keys = _Text.PLAIN if meaning is _Text.NAME else meaning
        elements: list[Syntax | Token] = [
            Tree(
                "object_elem",
                [Tree("object_elem_key", [_expression(key, keys)]), _expression(value, meaning)],
            )
            for _, key, value in _entries(node)
        ]
        return _term("object", [_token(node, "{"), *elements, _token(node, "}")])
    assert isinstance(node, ScalarNode)  # noqa: S101 (a node is one of three)
    text = str(node.value)
    if not node.style:
        return _plain(node, text)
    if meaning is _Text.PLAIN or (meaning is _Text.TEMPLATE and not _is_template(text)):
        escaped = text.replace("\\", "\\\\")
        part = Tree("string_part", [_token(node, escaped, "STRING_CHARS")])
        return _term("string", [_token(node, '"'), part, _token(node, '"')])
    try:
        tree = parsed_expression(text) if meaning is _Text.NAME else parsed_template(text)
    except ValueError:
        return _term("unreadable", [_token(node, f'"{text}"')])
    return _placed(tree, node)


def _plain(node: ScalarNode, text: str) -> Syntax:
    """A number, a boolean or null."""
    if text in ("true", "false", "null"):
        return _term("literal_value", [_token(node, text)])
    try:
        int(text)
    except ValueError:
        return _term("float_lit", [_token(node, text)])
    return _term("int_lit", [_token(node, text)])


def _is_template(text: str) -> bool:
    return "${" in text or "%{" in text


def _term(kind: str, children: Sequence[Syntax | Token]) -> Syntax:
    return Tree("expr_term", [Tree(kind, list(children))])


def _token(node: Node, text: str, kind: str = "TOKEN") -> Token:
    start, end = node.start_mark.index, node.end_mark.index
    return Token(kind, text, start_pos=start, end_pos=end)


def _placed(tree: Syntax, node: Node) -> Syntax:
    """The same tree, all of it at the place of a node: trees of equal texts are shared."""
    children = [
        _token(node, str(child), child.type) if isinstance(child, Token) else _placed(child, node)
        for child in tree.children
    ]
    return Tree(tree.data, children)
