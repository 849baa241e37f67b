"""What the two kinds of Spark have in common for a run: classic and Connect."""

from typing import TYPE_CHECKING, Protocol

from kgitops.fleet.spark.progress import TaskProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engine(Protocol):
    """A Spark that is ready. ``url`` is for messages."""

    url: str
    spark: "SparkSession"

    def label(self, run: str) -> None:
        """What this thread asks of Spark from now on belongs to ``run``."""

    def cancel(self, run: str) -> None:
        """Stop the tasks of ``run``, and what they started."""

    def progress(self, run: str, total: int) -> TaskProgress:
        """How far ``run`` is, which has ``total`` tasks."""

    def stop(self) -> None:
        """Give back all it holds; does not raise."""
