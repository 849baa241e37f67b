"""Arranges exported documents in files, and writes them as YAML that reads back the same.

A folder reads well with 10 documents and with 10,000: a few of a kind are one file, more are split
by the first part of their names, as teams name things; a group that is still too large becomes a
folder, and is split by the next part of the names.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from kgitops.kinds.exports import Document, Inline, Item
from kgitops.model.errors import KgitopsError, UsageError
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
