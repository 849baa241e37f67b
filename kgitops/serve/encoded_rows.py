"""Rows of topics, kept as they were written: most topics are as they were before."""

from collections.abc import Hashable

from kgitops.cluster.embedded.image.image import TopicImage
from kgitops.wire.writing import Written

_MOST_KINDS = 8
_SPARE = 1000
"""Rows of topics that are gone, before all are forgotten."""

Rows = dict[str, tuple[TopicImage, Written]]
"""Written rows by the topic's name, with the image that they hold for: images are immutable."""


class EncodedRowCache:
    """Written rows by their kind: all that they depend on beside the topic."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Rows] = {}

    def of(self, kind: Hashable, topics: int) -> Rows:
        """The rows of a kind, to read and to add to; about so many topics have one."""
        rows = self._kept.get(kind)
        if rows is None or len(rows) > 2 * topics + _SPARE:
            while len(self._kept) >= _MOST_KINDS:
                self._kept.pop(next(iter(self._kept)), None)
            rows = self._kept[kind] = {}
        return rows
