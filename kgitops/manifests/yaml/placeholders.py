"""Placeholders in manifests: ``${var:NAME}``, ``${env:NAME}``, with ``${…:-default}``."""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, field

from kgitops.manifests.yaml.document import EMPTY, Document, plain_value
from kgitops.manifests.yaml.parse import Content, PlainPlaceholder, QuotedPlaceholder
from kgitops.model.source import Finding

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_INNER = re.compile(r"(var|env):([A-Za-z_][A-Za-z0-9_.-]*)(?::-(.*))?", re.DOTALL)


def takes_from_env(written: str) -> bool:
    """True if this text, as a file has it, asks for the value of an environment variable."""
    return any((found[1] or "").startswith("env:") for found in _PLACEHOLDER.finditer(written))


class PlaceholderError(Exception):
    """A placeholder that can't be replaced: the problem, and advice."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Lookup(Struct, frozen=True):
    """The source of placeholders' values; ``used_env`` collects the values taken from ``env``.

    ``by_url``: the cluster is given by its URL, so it has no variables of its own.
    """

    variables: Mapping[str, str]
    env: Mapping[str, str]
    used_env: dict[str, str] = field(default_factory=dict)
    by_url: bool = False

    def replace(self, text: str) -> str:
        """The text with every placeholder replaced.

        Raises:
            PlaceholderError: one is malformed or has no value.
        """
        return _PLACEHOLDER.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        inner = _INNER.fullmatch(match[1]) if match[2] else None
        if inner is None:
            raise PlaceholderError(
                f"{match[0]!r} is not a placeholder",
                "write ${var:NAME} or ${env:NAME}, or $${ for the characters themselves",
            )
        origin, name = inner[1], inner[2]
        default: str | None = inner[3]
        values = self.env if origin == "env" else self.variables
        value = values.get(name, default)
        if value is None:
            problem = f"${{{origin}:{name}}} has no value"
            if origin == "var" and self.by_url and not self.variables:
                raise PlaceholderError(
                    f"{problem}: a cluster that is given by its URL has no variables",
                    "take those of a cluster of the project with --variables-of NAME, or give a "
                    f"default: ${{var:{name}:-…}}",
                )
            raise PlaceholderError(problem, _advice(origin, name))
        if origin == "env" and name in values and value:
            self.used_env[value] = name
        return str(value)


def _advice(origin: str, name: str) -> str:
    if origin == "env":
        return f"set the environment variable {name} or give a default: ${{env:{name}:-…}}"
    return f"add {name} to the cluster's variables or give a default: ${{var:{name}:-…}}"


_STAND_IN = 1
Path = tuple[str | int, ...]
Missing = Callable[[Path, str, PlaceholderError], Content]


def substitute(
    content: Content, document: Document, lookup: Lookup, findings: list[Finding]
) -> Content:
    """The content with every placeholder replaced; one without a value is a finding.

    What came of one in quotes remembers that, for ``problems.validated``.
    """

    def missing(path: Path, text: str, error: PlaceholderError) -> Content:
        findings.append(
            Finding(source=document.at(*path), problem=error.problem, advice=error.advice)
        )
        return text

    return _walk(content, (), lookup, missing)


def substitute_where_known(content: Content, lookup: Lookup) -> Content:
    """The content of a document for other clusters: a placeholder without a value is no mistake.

    A number stands in for a whole value that is missing, so that the rest can still be checked. It
    is never taken for a name: a name must be text.
    """

    def missing(_path: Path, text: str, _error: PlaceholderError) -> Content:
        return _STAND_IN if isinstance(text, PlainPlaceholder) else text

    return _walk(content, (), lookup, missing)


def _walk(content: Content, path: Path, lookup: Lookup, missing: Missing) -> Content:
    match content:
        case str() if "${" in content:
            return _text(content, path, lookup, missing)
        case dict():
            return {
                key: _walk(value, (*path, key), lookup, missing) for key, value in content.items()
            }
        case list():
            return [
                _walk(value, (*path, index), lookup, missing) for index, value in enumerate(content)
            ]
        case _:
            return content


def _text(text: str, path: Path, lookup: Lookup, missing: Missing) -> Content:
    try:
        replaced = lookup.replace(text)
        if isinstance(text, QuotedPlaceholder):
            return QuotedPlaceholder(replaced)
        if not isinstance(text, PlainPlaceholder):
            return replaced
        return plain_value(replaced) if replaced else EMPTY
    except PlaceholderError as error:
        return missing(path, text, error)
    except ValueError:
        too_long = PlaceholderError("the number has too many digits", "give a shorter number")
        return missing(path, text, too_long)


def has_placeholder(content: Content) -> bool:
    """Return whether a placeholder is left anywhere in ``content``."""
    match content:
        case str():
            return "${" in content
        case dict():
            return any(map(has_placeholder, content.values()))
        case list():
            return any(map(has_placeholder, content))
        case _:
            return False
