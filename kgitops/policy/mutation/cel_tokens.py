"""The tokens of a CEL expression: as much of its grammar as mutants need."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
    | (?P<string>[bB]?[rR]("{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
        | [bB]?("{3}(\\.|[^\\])*?"{3}|'{3}(\\.|[^\\])*?'{3}|"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'))
    | (?P<float>[0-9]*\.[0-9]+([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)
    | (?P<int>0[xX][0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<operator>>=|<=|==|!=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: ``kind`` is string, float, int, name or operator; ``start`` its place."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place after it."""
        return self.start + len(self.text)

    @property
    def ends_a_value(self) -> bool:
        """Whether an operator after it stands between two values."""
        return self.kind != "operator" or self.text in (")", "]", "}")


def tokens(expression: str) -> Iterator[Token]:
    """The tokens in order, without blanks and comments."""
    for match in _TOKENS.finditer(expression):
        if match.lastgroup != "space":
            yield Token(match.lastgroup or "operator", match[0], match.start())
