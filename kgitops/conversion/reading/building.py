"""Builds a ``SourceObject`` while a tool's module reads it."""

from collections.abc import Iterable, Mapping, Sized

from msgspec.structs import replace

from kgitops.conversion.objects import DeclaredDocument, Loss, SourceObject
from kgitops.conversion.reading.budget import TooMuchError
from kgitops.conversion.reading.comments import is_secret_name, shown_comment
from kgitops.conversion.reading.keys import KeyedFields, Keys, Reading
from kgitops.conversion.reading.values import TEMPLATE, Value
from kgitops.model.registry import Json
from kgitops.model.source import Source

_STEPS_OF_A_DOCUMENT = 500


class ObjectBuilder:
    """One object of the source: what it declares and what is lost of it, as it is found out."""

    def __init__(self, kind: str, name: str, value: Value) -> None:
        self.kind = kind
        self.name = name
        self.value = value
        self.reading = Reading()
        self._documents: list[DeclaredDocument] = []
        self._labels: dict[str, str] = {}
        self._settings = ""
        self._refused = False
        self._notes: list[str] = []

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    @property
    def losses(self) -> list[Loss]:
        """The losses so far."""
        return self.reading.losses

    def read(self, keys: Keys, value: Value | None = None, of: str = "") -> KeyedFields:
        """A mapping of this object by its table, the object itself unless another is given."""
        value = self.value if value is None else value
        return KeyedFields(value, keys, of or str(self), self.reading)

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
        loss = Loss(source=self.value.source, problem=f"{self}: {problem}", advice=advice)
        self.losses[:] = [loss]
        self._documents = []
        self._refused = True
        return self.build()

    def label(self, labels: Mapping[str, str]) -> None:
        """Give its documents these labels; one that may hold a secret, or a template, is a loss."""
        for key, text in labels.items():
            if is_secret_name(key):
                self.lose(
                    self.value, f"{self}: the label {key} may hold a secret", "it is left out"
                )
            elif TEMPLATE.search(text):
                self.lose(self.value, f"{self}: the label {key} is a template", "it is left out")
            else:
                self._labels[key] = text

    def declare(
        self, kind: str, name: str, spec: Mapping[str, Json], *, clusters: tuple[str, ...] = ()
    ) -> None:
        """Add a document, with the labels so far, unless the object was refused."""
        if self._refused:
            return
        self.spend(_STEPS_OF_A_DOCUMENT)
        labels = dict(self._labels)
        self._documents.append(
            DeclaredDocument(kind=kind, name=name, spec=spec, labels=labels, clusters=clusters)
        )

    def spend(self, steps: int) -> None:
        """Take steps of what the documents of the object's file may take.

        Raises:
            TooMuchError: not so many are left.
        """
        try:
            self.value.file.budget.spend(steps)
        except TooMuchError:
            raise TooMuchError(self.value.source) from None

    def set_deletion_policy(self, policy: str) -> None:
        """Write ``deletionPolicy`` into every document."""
        self._documents = [
            replace(document, spec={**document.spec, "deletionPolicy": policy})
            for document in self._documents
        ]

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
        if not self._refused:
            self.reading.lose_rest()
        within = [self.value] if parts is None else parts
        template = next(filter(None, (part.template() for part in within)), None)
        if template is not None and not self._refused:
            self._documents = []
            self.losses[:] = [
                Loss(
                    source=self.value.source,
                    problem=f"{self} has the template {template.strip()[:60]!r}, whose value is "
                    "not known here",
                    advice=self.value.file.advice or "write the value in its place",
                )
            ]
        return SourceObject(
            kind=self.kind,
            name=self.name,
            source=self.value.source,
            documents=tuple(self._documents),
            losses=tuple(sorted(self.losses, key=lambda loss: loss.source)),
            settings=self._settings,
            comments=(*self._notes, *self.value.take_comments()),
        )
