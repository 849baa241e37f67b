"""Documents as YAML text, with the comments of the source and the losses where they were."""

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from kgitops.conversion.objects import ConvertedFile, DeclaredDocument, Loss, SourceObject
from kgitops.kinds.exports import Inline
from kgitops.model.registry import Json
from kgitops.model.source import Source
from kgitops.workflow.export.files import ListedDocument, document_yaml, file_lines, to_yaml

_WIDTH = 98
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FEW = 2
"""The most configs that are written on a line with the rest of the spec."""


class WrittenObject(Struct, frozen=True):
    """The lines from ``line`` on are of ``item``; those from ``copied`` on are its own ones."""

    line: int
    item: SourceObject
    copied: int | None


class WrittenFile(Struct, frozen=True):
    """A file's text, and its objects in order."""

    text: str
    objects: tuple[WrittenObject, ...]

    def source_of(self, place: Source) -> tuple[SourceObject | None, Source]:
        """The object at a place of this file, unless it is copied, and the place in the source."""
        index = bisect_right(self.objects, place.line, key=lambda it: it.line) - 1
        if index < 0:
            return None, place
        it = self.objects[index]
        if it.copied is None or place.line < it.copied:
            return it.item, it.item.source
        begin, below = it.item.source, place.line - it.copied
        text = it.item.documents[0].text
        # Where it begins beside a ---, this is left out.
        before = 0 if below or text[0] == " " else begin.column - 1
        return None, replace(begin, line=begin.line + below, column=before + place.column)


def file_text(file: ConvertedFile, *, compact: bool) -> WrittenFile | None:
    """The file's text; None if it declares and loses nothing: its comments are about settings.

    ``compact`` makes lists of documents.
    """
    if not any(item.documents or item.losses for item in file.objects):
        return None
    pieces: list[ListedDocument] = []
    objects: list[tuple[SourceObject, int | None]] = []
    for item in file.objects:
        notes = [*_comment(item.comments), *loss_comments(item)]
        for document in item.documents or (None,):
            pieces.append(
                ListedDocument(None, notes) if document is None else _piece(document, notes)
            )
            is_copied = document is not None and document.text
            objects.append((item, len(notes) + 1 if is_copied else None))
            notes = []
    written = file_lines(pieces, _comment(file.comments), compact=compact)
    if not written.lines:
        return None
    placed = []
    for line, at in written.starts:
        item, above = objects[at]
        placed.append(WrittenObject(line, item, None if above is None else line + above))
    return WrittenFile(written.text, tuple(placed))


def documents_text(documents: Iterable[DeclaredDocument]) -> WrittenFile:
    """A file of documents that are of no object of the source."""
    return WrittenFile("".join(f"---\n{document_text(document)}" for document in documents), ())


def document_text(document: DeclaredDocument) -> str:
    """One document, without the line ``---``; a short spec is on one line."""
    return document.text or document_yaml(_written(document, _spec(document.spec)))


def _piece(document: DeclaredDocument, notes: Sequence[str]) -> ListedDocument:
    alone = partial(document_text, document)
    if document.text or not document.name:
        return ListedDocument(alone, notes)
    return ListedDocument(alone, notes, _written(document, _in_lines(document.spec)))


def _written(document: DeclaredDocument, spec: Mapping[str, Json]) -> dict[str, Json]:
    metadata: dict[str, Json] = {"name": document.name} if document.name else {}
    if document.labels:
        metadata["labels"] = Inline(document.labels)
    if document.clusters:
        metadata["clusters"] = list(document.clusters)
    return {
        "apiVersion": "kgitops/v1",
        "kind": document.kind,
        "metadata": Inline(metadata),
        "spec": spec,
    }


def _spec(spec: Mapping[str, Json]) -> dict[str, Json]:
    configs = spec.get("configs")
    if configs is not None and (len(configs) > _FEW or "assignments" in spec):
        return _in_lines(spec)
    inner = {
        key: Inline(value) if isinstance(value, dict) else value for key, value in spec.items()
    }
    return Inline(inner) if _fits({"spec": Inline(inner)}) else _in_lines(spec)


def _in_lines(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The spec with a line for each of its fields, and for each item of a long list."""
    return {
        key: tuple(value) if isinstance(value, list) and not _fits({key: value}) else value
        for key, value in spec.items()
    }


def _fits(written: Mapping[str, Json]) -> bool:
    return len(to_yaml([written])) - len("---\n") <= _WIDTH


def loss_comments(item: SourceObject) -> list[str]:
    return [
        line
        for loss in item.losses
        for line in _wrapped(f"NOT CONVERTED ({_place(loss)}): {loss.problem}")
    ]


def _comment(comments: Iterable[str]) -> Sequence[str]:
    return [f"# {line}".rstrip() for comment in comments for line in comment.splitlines() or [""]]


def _place(loss: Loss) -> str:
    """The file's own name is enough: the comment stands in the file that was made of it."""
    return f"{loss.source.file.rsplit('/', 1)[-1]}:{loss.source.line}"


def _wrapped(text: str) -> list[str]:
    one_line = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", " ".join(text.split()))
    return [
        f"# {line}"
        for line in textwrap.wrap(one_line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
