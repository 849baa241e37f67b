"""Splits the text of a CEL expression into tokens."""

import re
from collections.abc import Iterator

from msgspec import Struct

RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    }
)


class SyntaxProblem(Exception):  # noqa: N818 (a finding is made of it, not an error of ours)
    """A text is not a CEL expression: the problem and the advice."""

    def __init__(self, problem: str, advice: str = "correct the expression") -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Token(Struct, frozen=True):
    """``kind``: name, null, bool, int, uint, double, string, bytes, operator or end."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The index after it."""
        return self.start + len(self.text)

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the expression"
        shown = self.text if len(self.text) <= _SHOWN else f"{self.text[: _SHOWN - 1]}…"
        return f"'{shown}' at character {self.start + 1}"


_SHOWN = 30
_QUOTED = (
    r"'''(?:[^\\]|\\[\s\S])*?'''",
    r'"""(?:[^\\]|\\[\s\S])*?"""',
    r"'(?:[^'\\\r\n]|\\.)*'",
    r'"(?:[^"\\\r\n]|\\.)*"',
)
_RAW = (r"'''[\s\S]*?'''", r'"""[\s\S]*?"""', r"'[^'\r\n]*'", r'"[^"\r\n]*"')
_STRING = f"(?:[rR](?:{'|'.join(_RAW)})|(?:{'|'.join(_QUOTED)}))"
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n\f]+|//[^\n]*)"
    rf"|(?P<bytes>[bB]{_STRING})"
    rf"|(?P<string>{_STRING})"
    r"|(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
    r"|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)"
    r"|(?P<operator>&&|\|\||==|!=|<=|>=|[-<>+*/%!?:.,()\[\]{}])"
)
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\?\"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|(.))",
    re.DOTALL,
)
_KEYWORDS = {"true": "bool", "false": "bool", "null": "null", "in": "operator"}
# Operators of other languages, and what to write in CEL.
_ADVICE = {
    "=": "write == to compare",
    "&": "write && for and",
    "|": "write || for or",
    "'": "close the quotes",
    '"': "close the quotes",
    "`": "write the name in brackets: configs['retention.ms']",
    "$": "write variables.NAME for a variable of the policy",
    "“": 'write straight quotes: "',
    "”": 'write straight quotes: "',
    "‘": "write straight quotes: '",  # noqa: RUF001
    "’": "write straight quotes: '",  # noqa: RUF001
}


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of ``text``, without space and comments; the last is of kind end.

    Raises:
        SyntaxProblem: a character that begins no token.
    """
    index = 0
    while index < len(text):
        match = _TOKEN.match(text, index)
        if match is None:
            character = text[index]
            raise SyntaxProblem(
                f"{character!r} at character {index + 1} has no meaning in CEL",
                _ADVICE.get(character, "correct the expression"),
            )
        kind = match.lastgroup or ""
        if kind == "name":
            kind = _KEYWORDS.get(match[0], kind)
        if kind in ("string", "bytes"):
            _check_escapes(match[0], index)
        if kind != "space":
            yield Token(kind, match[0], index)
        index = match.end()
    yield Token("end", "", index)


def _check_escapes(quoted: str, start: int) -> None:
    if "r" in quoted[:2].lower():
        return
    for escape in _ESCAPE.finditer(quoted):
        if escape[1] is not None:
            raise SyntaxProblem(
                f"'{escape[0]}' at character {start + escape.start() + 1} is not an escape of CEL",
                f"write r{quoted[:1]}…{quoted[:1]} for text in which a backslash is one",
            )
