"""Long lists: the first items are seen, more open below them, the rest is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_FIRST, _MOST = 15, 1_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited(Generic[T]):
    """The first of many things, those that open below them, and how many neither shows."""

    first: tuple[T, ...]
    rest: tuple[T, ...]
    left_out: int
    total: int


def limited(items: Sequence[T], *, first: int = _FIRST) -> Limited[T]:
    """``items`` as far as a page can hold them."""
    return Limited(
        first=tuple(items[:first]),
        rest=tuple(items[first:_MOST]),
        left_out=max(0, len(items) - _MOST),
        total=len(items),
    )
