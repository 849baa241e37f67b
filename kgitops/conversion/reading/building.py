"""Builds a ``SourceObject`` while a tool's module reads it."""

from collections.abc import Iterable, Mapping, Sized

from kgitops.conversion.objects import DeclaredDocument, Loss, SourceObject
from kgitops.conversion.reading.comments import is_secret_name, shown_comment
from kgitops.conversion.reading.values import Fields, Value
from kgitops.model.registry import Json
from kgitops.model.source import Source


class ObjectBuilder:
    """One object of the source: what it declares and what is lost of it, as it is found out."""

    def __init__(self, kind: str, name: str, value: Value) -> None:
        self.kind = kind
        self.name = name
        self.value = value
        self.losses: list[Loss] = []
        self._documents: list[DeclaredDocument] = []
        self._settings = ""
        self._refused = False
        self._notes: list[str] = []

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    def fields(self, value: Value | None = None) -> Fields:
        """A mapping of this object, the object itself unless another is given."""
        return Fields(self.value if value is None else value, self.losses)

    def lose(self, at: Value | Source, problem: str, advice: str) -> None:
        """Note a part that has no counterpart."""
        source = at.source if isinstance(at, Value) else at
        self.losses.append(Loss(source=source, problem=problem, advice=advice))

    def lose_if_empty(self, found: Sized, problem: str) -> None:
        """Note that nothing of the object was found, unless a loss says so already."""
        if not found and not self.losses:
            self.lose(self.value, f"{self} {problem}", "it is left out")

    def refuse(self, problem: str, advice: str) -> SourceObject:
        """The object if none of it can be declared; whatever was read of it is dropped."""
        self.losses = [Loss(source=self.value.source, problem=f"{self}: {problem}", advice=advice)]
        self._documents = []
        self._refused = True
        return self.build()

    def declare(
        self,
        kind: str,
        name: str,
        spec: Mapping[str, Json],
        *,
        labels: Mapping[str, str] | None = None,
        clusters: tuple[str, ...] = (),
    ) -> None:
        """Add a document; a label that may hold a secret is a loss."""
        kept = {}
        for key, text in (labels or {}).items():
            if is_secret_name(key):
                self.lose(
                    self.value, f"{self}: the label {key} may hold a secret", "it is left out"
                )
            else:
                kept[key] = text
        self._documents.append(
            DeclaredDocument(kind=kind, name=name, spec=spec, labels=kept, clusters=clusters)
        )

    def note(self, text: str) -> None:
        """Keep a description of the source as a comment."""
        self._notes.append(shown_comment(text.strip()))

    def becomes_settings(self, place: str) -> None:
        """Say which part of the project file it became: ``spec.clusters.prod``."""
        self._settings = place

    def build(self, parts: Iterable[Value] | None = None) -> SourceObject:
        """The object; templates in it that nobody filled in make it a loss as a whole.

        ``parts`` are those in which a template counts, if some do not tell what is declared.
        """
        within = [self.value] if parts is None else parts
        template = next(filter(None, (part.template() for part in within)), None)
        if template is not None and not self._refused:
            self._documents = []
            self.losses = [
                Loss(
                    source=self.value.source,
                    problem=f"{self} has the template {template.strip()[:60]!r}, whose value is "
                    "not known here",
                    advice=self.value.file.advice,
                )
            ]
        return SourceObject(
            kind=self.kind,
            name=self.name,
            source=self.value.source,
            documents=tuple(self._documents),
            losses=tuple(self.losses),
            settings=self._settings,
            comments=(*self._notes, *self.value.take_comments()),
        )
