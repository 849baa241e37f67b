"""GitHub's expressions, as much of them as our workflows use; anything else is an error."""

import re
from collections.abc import Mapping
from typing import Any

Json = Any
_TOKEN = re.compile(r"\s*(&&|\|\||==|!=|!|\(|\)|'(?:[^']|'')*'|[A-Za-z_][\w.-]*|\d+)")
_WHOLE = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


def fill(text: object, context: Mapping[str, Any]) -> str:
    """The text with every ``${{ … }}`` replaced."""
    return _WHOLE.sub(lambda found: to_text(evaluate(found[1], context)), to_text(text))


def condition(text: str, context: Mapping[str, Any]) -> bool:
    """An ``if:``; without a status function it holds only while nothing failed."""
    inner = _WHOLE.fullmatch(text.strip())
    words = inner[1] if inner else text
    asks_status = re.search(r"\b(always|cancelled|failure|success)\(\)", words)
    holds = truth(evaluate(words, context))
    return holds and (bool(asks_status) or not context["job"]["failed"])


def evaluate(words: str, context: Mapping[str, Any]) -> Json:
    parser = _Parser(words, context)
    value = parser.either()
    assert not parser.tokens, f"{parser.tokens} is left of {words!r}"
    return value


def truth(value: object) -> bool:
    return value not in ("", None, False, 0)


def to_text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Parser:
    def __init__(self, words: str, context: Mapping[str, Any]) -> None:
        self.tokens = []
        at = 0
        while words[at:].strip():
            found = _TOKEN.match(words, at)
            assert found, f"{words[at:]!r} is not known here"
            self.tokens.append(found[1])
            at = found.end()
        self.context = context

    def take(self, *wanted: str) -> str | None:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else None

    def either(self) -> Json:
        value = self.both()
        while self.take("||"):
            other = self.both()
            value = value if truth(value) else other
        return value

    def both(self) -> Json:
        value = self.same()
        while self.take("&&"):
            other = self.same()
            value = other if truth(value) else value
        return value

    def same(self) -> Json:
        value = self.single()
        while operator := self.take("==", "!="):
            other = self.single()
            value = (to_text(value).lower() == to_text(other).lower()) is (operator == "==")
        return value

    def single(self) -> Json:
        if self.take("!"):
            return not truth(self.single())
        if self.take("("):
            value = self.either()
            assert self.take(")")
            return value
        token = self.tokens.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.isdigit():
            return int(token)
        if self.take("("):
            assert self.take(")"), f"{token} takes no arguments here"
            failed, cancelled = self.context["job"]["failed"], self.context["job"]["cancelled"]
            return {"always": True, "cancelled": cancelled, "failure": failed}[token]
        return self.look_up(token)

    def look_up(self, path: str) -> Json:
        value: Any = self.context
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value
