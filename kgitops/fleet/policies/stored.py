"""A saved state that is opened where somebody first needs it, and travels as its paths."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kgitops.model.errors import KgitopsError
from kgitops.policy.state.lazy_state import ReadingScope

if TYPE_CHECKING:  # pyarrow is only imported in a process that does read
    from kgitops.fleet.policies.reader import Reader

T = TypeVar("T")


class Stored:
    """What the parts of one state share: its files, and what became of reading them."""

    def __init__(self, files: tuple[Path, ...], cluster: str) -> None:
        self._files = files
        self._cluster = cluster
        self.around: ReadingScope = nullcontext
        self.failure: KgitopsError | None = None

    def __reduce__(self) -> tuple[type["Stored"], tuple[tuple[Path, ...], str]]:
        return Stored, (self._files, self._cluster)

    def read(self, work: Callable[["Reader"], T]) -> T:
        """What ``work`` makes of the open files.

        Raises:
            KgitopsError: it can't be read, now or at an earlier try.
        """
        if self.failure is not None:
            raise self.failure
        try:
            with self.around():
                return work(self._reader)
        except KgitopsError as error:
            self.failure = error
            raise

    def pieces(self, work: Callable[["Reader", int], T]) -> Iterator[T]:
        """What ``work`` makes of each piece, one reading after another; errors as of ``read``."""
        for piece in self.read(lambda reader: reader.pieces):
            yield self.read(lambda reader, piece=piece: work(reader, piece))  # type: ignore[misc]

    @cached_property
    def _reader(self) -> "Reader":
        from kgitops.fleet.policies.reader import Reader  # noqa: PLC0415 (see above)

        return Reader(self._files, self._cluster)


class Late:
    """Implements ``policy.large.LazyPart`` for the parts of a stored state."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    @property
    def failure(self) -> KgitopsError | None:
        """Why the state can't be read."""
        return self._stored.failure

    def load_within(self, around: ReadingScope) -> None:
        """From now on read each piece within ``around``; the other parts of the state do too."""
        self._stored.around = around
