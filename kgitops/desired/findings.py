"""Collects what is wrong with the declarations, and hides what came from the environment."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kgitops.desired.state import DesiredObject
from kgitops.manifests.yaml.document import Document, Part
from kgitops.model.source import Finding, Severity

Path = tuple[str | int, ...]
Declaration = Document | Part
"""What declares an object: a document, or an item of a list in one."""
DeclaredObject = tuple[DesiredObject, Declaration]

_LEAST_SECRET = 4


def counted(number: int, noun: str) -> str:
    """``1 replica``, ``2 replicas``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(slots=True)
class Findings:
    """All findings of one build; problems stop it, warnings do not."""

    found: list[Finding] = field(default_factory=list)

    def error(
        self, document: Declaration, path: Path, problem: str, advice: str, *, key: bool = False
    ) -> None:
        """Add a problem with the value under ``path``, or with its key."""
        place = document.key_at(*path) if key else document.at(*path)
        self.found.append(Finding(source=place, problem=problem, advice=advice))

    def warning(self, document: Declaration, path: Path, problem: str, advice: str) -> None:
        """Add something that the user should know about the value under ``path``."""
        self.found.append(
            Finding(
                source=document.at(*path),
                problem=problem,
                advice=advice,
                severity=Severity.WARNING,
            )
        )


def without_env_values(
    findings: Iterable[Finding], env_values: Mapping[str, str]
) -> tuple[Finding, ...]:
    """The findings with every value that came from the environment replaced by its name.

    Values of up to three characters stay: they are no secrets, and stand in any sentence.
    """
    env_values = {value: name for value, name in env_values.items() if len(value) >= _LEAST_SECRET}
    if not env_values:
        return tuple(findings)
    # As it is and as a quoted text shows it; the longest first, as one may be part of another.
    spellings = {
        spelling: f"${{env:{name}}}"
        for value, name in env_values.items()
        for spelling in (value, repr(value)[1:-1])
    }
    longest_first = sorted(spellings, key=len, reverse=True)
    secret = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest_first))

    def hide(text: str) -> str:
        return secret.sub(lambda found: spellings[found[0]], text)

    return tuple(
        replace(finding, problem=hide(finding.problem), advice=hide(finding.advice))
        for finding in findings
    )
