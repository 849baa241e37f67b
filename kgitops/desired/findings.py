"""Collects problems with the declarations, and hides values that came from the environment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kgitops.desired.state import DesiredObject
from kgitops.manifests.expanded import ExpandedDocument, given_by
from kgitops.manifests.yaml.document import Document, DocumentPart
from kgitops.model.source import Finding, Severity, Source

Path = tuple[str | int, ...]
Declaration = Document | DocumentPart
"""The declaration of an object: a document, or an item of a list in one."""
DeclaredObject = tuple[DesiredObject, Declaration]

_LEAST_SECRET = 4


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: ``1 replica``, ``2 replicas``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(slots=True)
class Findings:
    """Collects the findings of one build; errors stop it, warnings do not.

    A finding about a value that a profile or a default gives stands where the object asks for it,
    and names the value's origin; ``also`` are the paths of other values that have a part in it.
    """

    found: list[Finding] = field(default_factory=list)

    def error(
        self,
        document: Declaration,
        path: Path,
        problem: str,
        advice: str,
        *,
        key: bool = False,
        also: Sequence[Path] = (),
    ) -> None:
        """Add an error about the value under ``path``, or about its key."""
        place = _place(document, path, key=key)
        problem += given_by(document, path, *also)
        self.found.append(Finding(source=place, problem=problem, advice=advice))

    def warning(
        self,
        document: Declaration,
        path: Path,
        problem: str,
        advice: str,
        also: Sequence[Path] = (),
    ) -> None:
        """Add a warning about the value under ``path``."""
        self.found.append(
            Finding(
                source=_place(document, path),
                problem=problem + given_by(document, path, *also),
                advice=advice,
                severity=Severity.WARNING,
            )
        )


def _place(document: Declaration, path: Path, *, key: bool = False) -> Source:
    if isinstance(document, ExpandedDocument):
        given = document.given_at(path)
        if given is not None and given.kind is not None:
            return document.own_place(path)
    return document.key_at(*path) if key else document.at(*path)


def without_env_values(
    findings: Iterable[Finding], env_values: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Replace every value that came from the environment by the name of its variable.

    Values of up to three characters stay: they are not secrets, and appear in any sentence.
    """
    env_values = {value: name for value, name in env_values.items() if len(value) >= _LEAST_SECRET}
    if not env_values:
        return tuple(findings)
    # Plain and as in a quoted text; the longest first, because one may be part of another.
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
