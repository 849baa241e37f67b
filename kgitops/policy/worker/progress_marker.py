"""The worker's progress, in shared memory: the parent reads it even if the worker hangs."""

import mmap
from collections.abc import MutableSequence

BYTES = 16
NO_POLICY = -1
"""No policy is at work; nor is one below this number."""


class ProgressMarker:
    """Two numbers: which request is judged and, in ``current_rule[0]``, which policy judges it."""

    def __init__(self, file: int) -> None:
        """Share the memory of this file, which is ``BYTES`` long."""
        cells = memoryview(mmap.mmap(file, BYTES)).cast("q")
        # mypy doesn't know that a view cast to numbers holds numbers.
        self._cells: MutableSequence[int] = cells  # type: ignore[assignment]
        self.current_rule: MutableSequence[int] = cells[1:]  # type: ignore[assignment]

    @property
    def place(self) -> tuple[int, int]:
        """The request's number and the policy's index, or NO_POLICY or less."""
        return self._cells[0], self._cells[1]

    def at_request(self, number: int) -> None:
        """This request is judged from now on."""
        self._cells[0] = number

    def at_nothing(self, piece: int = 0) -> None:
        """No policy is at work; ``piece`` lets others see how far other work has come."""
        self._cells[1] = NO_POLICY - piece

    def close(self) -> None:
        """Let go of the memory, which holds a file open; the place stays what it was."""
        self._cells = list(self._cells)
        self.current_rule = self._cells[1:]
