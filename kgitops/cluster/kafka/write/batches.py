"""Cutting what is asked at once into requests that a controller takes."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from kgitops.model.results import ErrorCode, RequestResult

T = TypeVar("T")

# QuorumController.MAX_RECORDS_PER_USER_OP and ReplicationControlManager.MAX_PARTITIONS_PER_BATCH:
# one more, and all of the request is refused (A4-03).
MOST_RECORDS = 10_000

TOO_LARGE = RequestResult(
    code=ErrorCode.POLICY_VIOLATION,
    message="Unable to perform excessively large batch operation.",
)
"""What a controller answers to that, where it does answer so."""


def cut(
    items: Sequence[T], *, weight: Callable[[T], int], key: Callable[[T], Hashable]
) -> Iterator[Sequence[T]]:
    """``items`` in order, in pieces of at most MOST_RECORDS, no key twice in a piece.

    One that is too large by itself goes alone, so that it is the only one to be refused.
    """
    piece: list[T] = []
    keys: set[Hashable] = set()
    size = 0
    for item in items:
        if piece and (size + weight(item) > MOST_RECORDS or key(item) in keys):
            yield piece
            piece, keys, size = [], set(), 0
        piece.append(item)
        keys.add(key(item))
        size += weight(item)
    if piece:
        yield piece
