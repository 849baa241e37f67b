"""YAML's nodes and scalars: libyaml's composer, bounded in depth, and YAML 1.2's core schema.

PyYAML's own resolution of tags, which is that of YAML 1.1, is left out.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml._yaml import CParser

MAX_DEPTH = 100
Node = yaml.Node
ScalarNode = yaml.ScalarNode
MappingNode = yaml.MappingNode
SequenceNode = yaml.SequenceNode


class TooDeepError(yaml.MarkedYAMLError):
    """Collections are nested deeper than MAX_DEPTH: libyaml would overrun the C stack."""


class Parser(CParser):
    """Composes nodes whose ``tag`` is None unless one was written."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> None:  # noqa: ANN401
        """Leave the type of a scalar to ``plain_value``."""

    def descend_resolver(self, parent: Node | None, _index: Any) -> None:  # noqa: ANN401
        """Count the nesting; libyaml calls this before each node."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = parent.start_mark if parent else None
            raise TooDeepError(problem="nested too deeply", problem_mark=mark)

    def ascend_resolver(self) -> None:
        """Count back; libyaml calls this after each node."""
        self.depth -= 1


def compose_all(text: str) -> Iterator[Node]:
    """The root node of each document of ``text``.

    Raises:
        yaml.YAMLError: the text is not YAML from here on.
    """
    parser = Parser(text)
    while parser.check_node():
        node = parser.get_node()
        if node is not None:
            yield node


def is_plain(node: ScalarNode) -> bool:
    """Return whether the scalar has neither quotes nor a tag."""
    return not node.style and not node.tag


def is_merge(key: Node) -> bool:
    """Return whether a key is YAML's merge, ``<<``."""
    return isinstance(key, ScalarNode) and key.value == "<<" and is_plain(key)


Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAY_BE_NUMBER = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEXADECIMAL = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class NoValue:
    """The content of a key or an item that has no value: no field of any kind accepts it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY = NoValue()


def plain_value(text: str) -> Scalar:
    """The value of ``text`` as a scalar without quotes.

    Raises:
        ValueError: it is a number of thousands of digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


def scalar_text(value: str | int | float | bool) -> str:
    """A scalar as text: ``true``, ``3``, ``0.5``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
