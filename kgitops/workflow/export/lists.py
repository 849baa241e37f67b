"""Documents as the lines of a file, in which those that share their metadata can be one list."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct

from kgitops.kinds.exports import Document, Inline
from kgitops.manifests.kind_models import LISTS
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json
from kgitops.workflow.export.files import document_yaml, to_yaml

_FEW = 2
"""The most entries of a mapping that is written on one line."""
_LIST = {kind: name for name, kind in LISTS.items()}


class ListedDocument(Struct, frozen=True):
    """A document: how it is written alone, the lines of comment above it, and what a list has.

    Without ``text`` there are only comments; without ``document`` it is never an item.
    """

    text: Callable[[], str] | None
    notes: Sequence[str] = ()
    document: Document | None = None


class FileLines(Struct):
    """The lines of a file, and the line at which each piece begins, with the piece's index."""

    lines: list[str]
    starts: list[tuple[int, int]]

    def piece_at(self, line: int) -> int:
        """The index of the piece that has this line; a list's head is of its first item."""
        at = bisect_right(self.starts, line, key=itemgetter(0))
        return self.starts[max(at - 1, 0)][1]

    @property
    def text(self) -> str:
        """The file's text."""
        return "".join(f"{line}\n" for line in self.lines)


def file_lines(
    pieces: Sequence[ListedDocument], before: Sequence[str] = (), *, compact: bool
) -> FileLines:
    """The file that begins with ``before``; ``compact`` makes lists of what can be in one."""
    file = FileLines([*before], [])
    groups = _grouped(pieces) if compact else [[index] for index in range(len(pieces))]
    for group in groups:
        first = pieces[group[0]]
        if len(group) > 1 and first.document is not None:
            _add_list(file, first.document, [(index, pieces[index]) for index in group])
        elif first.text is not None:
            file.starts.append((len(file.lines) + 1, group[0]))
            file.lines += ["---", *first.notes, *first.text().splitlines()]
        else:
            file.lines += first.notes
    return file


def _add_list(
    file: FileLines, first: Document, items: Sequence[tuple[int, ListedDocument]]
) -> None:
    common = _common_metadata(first)
    head: dict[str, Json] = {"apiVersion": first["apiVersion"], "kind": _LIST[first["kind"]]}
    if common:
        head["metadata"] = type(first["metadata"])(common)
    above = [*to_yaml([head]).splitlines(), "spec:", "  items:"]  # of the first item
    for index, piece in items:
        document = piece.document or {}
        item = document_yaml({document["metadata"]["name"]: _item_spec(document["spec"])})
        file.starts.append((len(file.lines) + 1, index))
        file.lines += above
        file.lines += [f"    {line}" for line in (*piece.notes, *item.splitlines())]
        above = []


def _item_spec(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The spec with a line for each field; a line holds a few configs, too."""
    return {key: Inline(value) if _is_short(value) else value for key, value in spec.items()}


def _is_short(value: Json) -> bool:
    if not isinstance(value, dict) or len(value) > _FEW:
        return False
    return not any(isinstance(it, dict | list | tuple) for it in value.values())


def _grouped(pieces: Sequence[ListedDocument]) -> Iterator[Sequence[int]]:
    """The indexes of pieces that can be one list, each group at its first; no name comes twice."""
    groups: dict[tuple[object, ...], list[int]] = {}
    seen: defaultdict[tuple[object, ...], int] = defaultdict(int)
    for index, piece in enumerate(pieces):
        document = piece.document
        if document is None or document["kind"] not in _LIST:
            groups[(index,)] = [index]
            continue
        alike = (document["kind"], canonical_json(_common_metadata(document)))
        name = (*alike, document["metadata"]["name"])
        groups.setdefault((*alike, seen[name]), []).append(index)
        seen[name] += 1
    yield from groups.values()


def _common_metadata(document: Document) -> Mapping[str, Json]:
    return {key: value for key, value in document["metadata"].items() if key != "name"}
