"""Arranges exported documents in files, and writes them as YAML that reads back the same.

A folder reads well with 10 documents and with 10,000: a few of a kind are one file, more are split
by the first part of their names, as teams name things; a group that is still too large becomes a
folder, and is split by the next part of the names.

Documents that share their metadata can be one list.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import yaml
from msgspec import Struct

from kgitops.kinds.exports import Document, Inline, Item
from kgitops.manifests.kind_models import LISTS
from kgitops.model.errors import KgitopsError, UsageError
from kgitops.model.json.canonical import canonical_json
from kgitops.model.registry import Json

ONE_FILE = 25
"""The most documents of a kind in one file."""
MOST = 100
"""The most documents in one of several files: larger ones are not reviewed."""
_LONER = 5
"""The fewest documents of an item with a prefix of its own that get a file of their own."""
_DEEPEST = 3
_LONGEST = 80
_SEPARATOR = re.compile(r"[._-]+")
_UNSAFE = re.compile(r"[^a-z0-9@]")
# Windows has these as devices, whatever comes after a dot.
_DEVICE = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_OTHERS = "_others"


def arrange(kind: str, items: Iterable[Item]) -> dict[str, list[Document]]:
    """File names to documents: ``KIND.yaml``, or files below ``KIND/``."""
    named = [(_parts(item.name), item) for item in sorted(items, key=lambda item: item.name)]
    everything = [document for _, item in named for document in item.documents]
    if len(everything) <= ONE_FILE:
        return {f"{kind}.yaml": everything} if everything else {}
    return dict(_folder(kind, named, 0))


_Named = tuple[tuple[str, ...], Item]
_Files = Iterator[tuple[str, list[Document]]]


def _folder(folder: str, items: Sequence[_Named], depth: int) -> _Files:
    """The files of ``items``, whose names agree in their first ``depth`` parts."""
    groups: dict[str, list[_Named]] = {}
    for parts, item in items:
        groups.setdefault(parts[depth] if len(parts) > depth else "", []).append((parts, item))
    others = groups.pop("", [])
    for part, members in groups.items():
        count = _count(members)
        if len(members) == 1 and count < _LONER:
            others += members
        elif count > MOST and len(members) > 1 and depth + 1 < _DEEPEST:
            yield from _folder(f"{folder}/{part}", members, depth + 1)
        else:
            yield from _pieces(f"{folder}/{part}", members)
    yield from _pieces(f"{folder}/{_OTHERS}", sorted(others, key=lambda named: named[1].name))


def _pieces(path: str, items: Sequence[_Named]) -> _Files:
    """One file, or numbered ones of similar size; an item is never split."""
    pieces: list[list[Document]] = []
    for _, item in items:
        if not pieces or len(pieces[-1]) + len(item.documents) > MOST:
            pieces.append([])
        pieces[-1].extend(item.documents)
    width = len(str(len(pieces)))
    for number, piece in enumerate(pieces, start=1):
        yield f"{path}.yaml" if len(pieces) == 1 else f"{path}-{number:0{width}}.yaml", piece


def _count(items: Sequence[_Named]) -> int:
    return sum(len(item.documents) for _, item in items)


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name as every file system takes them.

    In lower case, because some do not tell ``Orders`` from ``orders``: what they share is one file.
    """
    return tuple(_safe(part) for part in _SEPARATOR.split(name.lower()) if part)


def _safe(part: str) -> str:
    encoded = _UNSAFE.sub(lambda match: "".join(f"%{byte:02x}" for byte in match[0].encode()), part)
    return f"{encoded}_" if _DEVICE.fullmatch(encoded) else encoded[:_LONGEST]


# Strings in every YAML; all others are quoted, as readers differ on them.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*(?::[A-Za-z0-9._/-]+)?")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Formatting and private characters: an editor shows nothing of them, or another order.
_UNSEEN = frozenset({"Cf", "Co", "Cn", "Zl", "Zp"})


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something, before any work is done for it.

    Raises:
        UsageError: it is not empty, or not a folder.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder, nothing is overwritten")
    except OSError as error:
        raise UsageError(f"-o {folder}: {_reason(error)}; name a new folder") from error


def write_texts(texts: Mapping[str, str], folder: Path) -> None:
    """Write all files below ``folder``.

    Raises:
        KgitopsError: they can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise KgitopsError(
            f"{folder} can't be written: {_reason(error)}; name another folder"
        ) from error


def document_yaml(document: Mapping[str, Json]) -> str:
    """The text of one document, without the line ``---``."""
    return to_yaml([document]).removeprefix("---\n")


def to_yaml(documents: Sequence[Mapping[str, Json]]) -> str:
    """The text of a file with these documents."""
    text = _dump(documents, allow_unicode=True)
    if text.isascii() or _UNSEEN.isdisjoint(map(unicodedata.category, text)):
        return text
    return _dump(documents, allow_unicode=False)


def _dump(documents: Sequence[Mapping[str, Json]], *, allow_unicode: bool) -> str:
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        explicit_start=True,
        default_flow_style=False,
        width=_ONE_LINE,
        allow_unicode=allow_unicode,
    )
    return text


# A line is never broken: a text that continues on the next line is easily misread.
_ONE_LINE = 2**20


class _Dumper(yaml.CSafeDumper):
    """Quotes every string that some YAML reader might take for another type."""

    def ignore_aliases(self, data: Json) -> bool:
        del data
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    # What looks like a placeholder stands for itself.
    text = text.replace("${", "$${")
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')


def _list(dumper: _Dumper, items: Sequence[Json]) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


def _inline(dumper: _Dumper, mapping: Inline) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping, flow_style=True)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(Inline, _inline)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


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
