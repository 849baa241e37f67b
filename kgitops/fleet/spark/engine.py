"""The interface that classic Spark and Spark Connect share for a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TaskProgress(Struct, frozen=True, kw_only=True):
    """The numbers of tasks that are done, that run now, and of all. A retried task runs."""

    done: int
    active: int
    total: int


OnProgress = Callable[[TaskProgress], None]
"""Called from time to time, in the thread that waits, and once at the end."""


def ignore_progress(_progress: TaskProgress) -> None:
    """Do nothing: no one watches the progress."""


class Engine(Protocol):
    """A Spark that is ready. ``url`` is for messages."""

    url: str
    spark: "SparkSession"

    def label(self, run: str) -> None:
        """Let this thread's operations on Spark belong to ``run`` from now on."""

    def cancel(self, run: str) -> None:
        """Stop the tasks of ``run``, and what they started."""

    def progress(self, run: str, total: int) -> TaskProgress:
        """The progress of ``run``, which has ``total`` tasks."""

    def stop(self) -> None:
        """Release everything; does not raise."""
