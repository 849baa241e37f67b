"""Which exported document goes into which file, so that a folder reads well at 10 and at 10,000.

A few documents of a kind are one file. More are cut by what their names begin with, as teams name
things; a group that is still too large becomes a folder and is cut by the next part of the names.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgitops.model.registry import Json

Document = Mapping[str, Json]

ONE_FILE = 25
"""So many documents of a kind are one file."""
MOST = 100
"""More in one file nobody reviews."""
_LONER = 5
"""An item that shares its name with no other has a file of its own from so many documents on."""
_DEEPEST = 3
_LONGEST = 80
_SEPARATOR = re.compile(r"[._-]+")
_UNSAFE = re.compile(r"[^a-z0-9@]")
# Windows has these as devices, whatever comes after a dot.
_DEVICE = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
_OTHERS = "_others"


@dataclass(frozen=True, slots=True)
class Item:
    """Documents that stay together: a topic, the ACLs of a principal."""

    name: str
    documents: Sequence[Document]


def arrange(kind: str, items: Iterable[Item]) -> dict[str, list[Document]]:
    """File names to documents: ``KIND.yaml``, or files below ``KIND/``."""
    found = [(_parts(item.name), item) for item in sorted(items, key=lambda item: item.name)]
    everything = [document for _, item in found for document in item.documents]
    if len(everything) <= ONE_FILE:
        return {f"{kind}.yaml": everything} if everything else {}
    return dict(_folder(kind, found, 0))


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
    """One file, or numbered ones of equal size; what stays together is never cut."""
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
    encoded = _UNSAFE.sub(lambda found: "".join(f"%{byte:02x}" for byte in found[0].encode()), part)
    return f"{encoded}_" if _DEVICE.fullmatch(encoded) else encoded[:_LONGEST]
