"""Placeholders in manifests: ``${var:NAME}``, ``${env:NAME}``, with ``${…:-default}``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_WHOLE = re.compile(r"\$\{[^{}]*\}")
_INNER = re.compile(r"(var|env):([A-Za-z_][A-Za-z0-9_.-]*)(?::-(.*))?", re.DOTALL)


def is_placeholder(text: str) -> bool:
    """Whether the text is one placeholder and nothing else."""
    return _WHOLE.fullmatch(text) is not None


class PlaceholderError(Exception):
    """A placeholder that can't be replaced: what is wrong, and what to do."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Lookup:
    """The source of placeholders' values; ``used_env`` collects what was taken from there.

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

    def _value(self, found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        inner = _INNER.fullmatch(found[1]) if found[2] else None
        if inner is None:
            raise PlaceholderError(
                f"{found[0]!r} is not a placeholder",
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
