"""How far a run on Spark is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """Tasks that are done, that run now, and that there are. A task that is tried again runs."""

    done: int
    active: int
    total: int


OnProgress = Callable[[TaskProgress], None]
"""Is told now and then, in the thread that waits, and once at the end."""


def untold(_progress: TaskProgress) -> None:
    """Nobody waits."""
