"""Warnings of declared names that are easily taken for others, and of names that look the same."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from kgitops.desired.declared_names import names_in
from kgitops.desired.findings import Findings, Path
from kgitops.desired.lookalikes import appearance, bare_name, is_plain, lookalike_problem
from kgitops.manifests.yaml.document import Document
from kgitops.model.source import Severity, Source

TWIN_ADVICE = "write one name in both places, or rename one of the two"

Declared = tuple[object, Document]
"""A declaration, and the document that holds it."""


def warn_of_lookalikes(declared: Sequence[Declared], findings: Findings) -> None:
    """Warn of each name that is easily taken for another one, and of each that has a twin.

    A name that is an error already, as one of a topic, is no warning too.
    """
    refused = {found.source for found in findings.found if found.severity is Severity.ERROR}
    suspicious = (item for item in declared if not _is_plain_text(item[1]))
    unusual = [
        place
        for place in _places(suspicious)
        if not is_plain(place.name) and place.source not in refused
    ]
    for place in unusual:
        found = lookalike_problem(place.name)
        if found is not None:
            place.warn(found.problem, found.advice, findings)
    if unusual:
        _warn_of_twins(unusual, _places(declared), findings)


class _Place(Struct, frozen=True):
    """A name where a document has it: a text, or a key of a mapping."""

    name: str
    document: Document
    path: Path

    @property
    def source(self) -> Source:
        """The place of the name in its file."""
        at = self.document.key_at if self._is_key else self.document.at
        return at(*self.path)

    def warn(self, problem: str, advice: str, findings: Findings) -> None:
        """Add a warning at this place."""
        findings.warning(self.document, self.path, problem, advice, key=self._is_key)

    @property
    def _is_key(self) -> bool:
        return self.path[-1:] == (self.name,)


def _places(declared: Iterable[Declared]) -> Iterator[_Place]:
    for declaration, document in declared:
        for path, name in names_in(declaration):
            yield _Place(name, document, path)


def _is_plain_text(document: Document) -> bool:
    """Return whether all names are certainly printable ASCII, by the document's text alone."""
    text = document.file.text[document.start : document.end]
    return text.isascii() and "\\" not in text and "${" not in text


def _warn_of_twins(unusual: Iterable[_Place], every: Iterable[_Place], findings: Findings) -> None:
    """Warn at the first place of each unusual name of another one that looks the same."""
    alike: dict[str, dict[str, _Place]] = {
        appearance(bare_name(place.name)): {} for place in unusual
    }
    for place in every:
        name = bare_name(place.name)
        named = alike.get(appearance(name))
        if named is not None:
            named.setdefault(name, place)
    for named in alike.values():
        # Printable ASCII is what others are taken for; else it is the name that comes first.
        (_, first), *others = sorted(named.items(), key=lambda item: not is_plain(item[0]))
        for _, other in others:
            problem = f"{other.name!a} looks the same as {first.name!a} at {first.source}"
            other.warn(problem, TWIN_ADVICE, findings)
