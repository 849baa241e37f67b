"""A conversion in numbers, per kind of the source."""

from collections.abc import Iterable

from msgspec import Struct

from kgitops.conversion.objects import SourceObject


class KindCounts(Struct, kw_only=True):
    """The objects of a kind of the source, by what became of them.

    Each is ``converted`` to ``documents``, part of the ``settings``, the ``same`` as another, or
    ``lost``. Of the first three, ``partly`` lost something.
    """

    objects: int = 0
    converted: int = 0
    documents: int = 0
    settings: int = 0
    same: int = 0
    lost: int = 0
    partly: int = 0


def count_kinds(objects: Iterable[SourceObject]) -> dict[str, KindCounts]:
    """The counts of each kind, by its name in the source."""
    kinds: dict[str, KindCounts] = {}
    for item in objects:
        counts = kinds.setdefault(item.kind, KindCounts())
        counts.objects += 1
        counts.documents += len(item.documents)
        kept = True
        if item.documents:
            counts.converted += 1
        elif item.settings:
            counts.settings += 1
        elif item.same_as is not None:
            counts.same += 1
        else:
            counts.lost += 1
            kept = False
        counts.partly += kept and bool(item.losses)
    return dict(sorted(kinds.items()))
