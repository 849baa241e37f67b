"""A fault for tests of large states; the process that judges imports it, so it imports little."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kgitops.fleet.policies.lazy_parts import ParquetState
from kgitops.fleet.policies.state_reader import StateReader

T = TypeVar("T")


class SlowlyStored(ParquetState):
    """A fault: every reading takes its time."""

    def __init__(self, files: tuple[Path, ...], cluster: str, seconds: float) -> None:
        super().__init__(files, cluster)
        self.seconds = seconds

    def __reduce__(self):
        return SlowlyStored, (self._files, self._cluster, self.seconds)

    def read(self, work: Callable[[StateReader], T]) -> T:
        def slowly(reader: StateReader) -> T:
            time.sleep(self.seconds)
            return work(reader)

        return super().read(slowly)
