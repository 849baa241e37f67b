"""Workers that are there and have imported their work before it comes."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from kgitops.fleet.spark.classic import Classic

if TYPE_CHECKING:
    import pyarrow as pa


def warm(engine: Classic, work: Callable[[str], str]) -> None:
    """Give each core a task that does nothing; does not raise, as the first run will tell."""
    with suppress(Exception):
        cores = engine.spark.sparkContext.defaultParallelism
        engine.label("kgitops-warming")
        engine.spark.range(0, cores, 1, cores).mapInArrow(
            partial(_imported, work), "id long"
        ).collect()


def _imported(
    _work: Callable[[str], str], batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """Runs on the executors. ``_work`` came by the name of its module, which is imported now."""
    yield from batches
