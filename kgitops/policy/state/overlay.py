"""A mapping with changes on top; the mapping below is neither copied nor walked through."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Overlay(Mapping[K, V]):
    """``base`` with keys put and removed since; keys that were put come last."""

    def __init__(self, base: Mapping[K, V]) -> None:
        self._base = base
        self._put: dict[K, V] = {}
        self._touched: set[K] = set()

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self.remove(key)
        self._put[key] = value

    def remove(self, key: K) -> None:
        """Remove the key, if it is there."""
        self._touched.add(key)
        self._put.pop(key, None)

    def touched(self) -> Iterator[tuple[K, V | None, V | None]]:
        """Each key that was put or removed, with its value below and its value now."""
        return ((key, self._base.get(key), self._put.get(key)) for key in self._touched)

    def names(self) -> set[K]:
        """The keys, as a new set that the caller may change."""
        names = set(self._base)
        names -= self._touched
        names.update(self._put)
        return names

    def __getitem__(self, key: K) -> V:
        if key in self._touched:
            return self._put[key]
        return self._base[key]

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._base if key not in self._touched)
        yield from self._put

    def __len__(self) -> int:
        hidden = sum(key in self._base for key in self._touched)
        return len(self._base) - hidden + len(self._put)
