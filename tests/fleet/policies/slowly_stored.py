"""A fault for tests of large states; the process that judges imports it, so it imports little."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kgitops.fleet.policies.reader import Reader
from kgitops.fleet.policies.stored import Stored

T = TypeVar("T")


class SlowlyStored(Stored):
    """A fault: every reading takes its time."""

    def __init__(self, files: tuple[Path, ...], cluster: str, seconds: float) -> None:
        super().__init__(files, cluster)
        self.seconds = seconds

    def __reduce__(self):
        return SlowlyStored, (self._files, self._cluster, self.seconds)

    def read(self, work: Callable[[Reader], T]) -> T:
        def slowly(reader: Reader) -> T:
            time.sleep(self.seconds)
            return work(reader)

        return super().read(slowly)
