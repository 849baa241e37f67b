"""Work spread over executors: a text goes to a task, a text comes back, each exactly once.

What Spark moves are these texts alone. A task that is lost with its worker or its executor is
given to another, so ``work`` may run more than once for a spec, and even twice at a time.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn
from uuid import uuid4

from kgitops.fleet.spark.engine import Engine, OnProgress, TaskProgress, ignore_progress
from kgitops.fleet.spark.error_messages import error_from_run
from kgitops.fleet.spark.session import Session
from kgitops.model import errors
from kgitops.model.errors import KgitopsError, UnreachableError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

FIRST_TASK_TIMEOUT_S = 600.0
_LOOK_EVERY_S = 0.25
_CANCELLING_S = 10.0
_SCHEMA = "number long, answer string, refused string"


def run_tasks(
    session: Session,
    specs: Sequence[str],
    work: Callable[[str], str],
    on_progress: OnProgress = ignore_progress,
    *,
    first_task_timeout_s: float = FIRST_TASK_TIMEOUT_S,
) -> Iterator[str]:
    """The answers of ``work`` to ``specs``, in their order; every spec is a task of its own.

    Tasks begin in the order of ``specs``: give the heaviest first. ``work`` is a function of a
    module that executors can import. A KgitopsError is not retried. An interrupt here
    ends the tasks.

    Raises:
        KgitopsError: ``work`` raised one, the first in the order of specs; or a task failed as
            often as Spark tries one.
        UnreachableError: Spark does not start, or begins no task within ``first_task_timeout_s``.
    """
    if not specs:
        return iter(())
    engine = session.engine()
    rows = _Run(engine, specs, work).wait(on_progress, first_task_timeout_s)
    answers = {row.number: row for row in rows}
    if len(rows) != len(specs) or answers.keys() != set(range(len(specs))):
        raise KgitopsError(
            f"Spark on {engine.url} gave {len(rows)} answers to {len(specs)} tasks; run it again"
        )
    return iter([_text(answers[number]) for number in range(len(specs))])


class _Run:
    """One job in a thread of its own, so that the thread that waits hears of interrupts."""

    def __init__(self, engine: Engine, specs: Sequence[str], work: Callable[[str], str]) -> None:
        self._engine = engine
        self._specs = specs
        self._work = work
        self._name = f"kgitops-{uuid4().hex}"
        self._rows: list[Row] = []
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._collect, name="spark-run", daemon=True)

    def wait(self, on_progress: OnProgress, first_task_timeout_s: float) -> "list[Row]":
        self._thread.start()
        remaining_looks = first_task_timeout_s / _LOOK_EVERY_S
        try:
            while self._is_running():
                progress = self._engine.progress(self._name, len(self._specs))
                on_progress(progress)
                remaining_looks -= 1
                if progress.done or progress.active:
                    remaining_looks = float("inf")
                elif remaining_looks < 0:
                    self._give_up(first_task_timeout_s)
        except BaseException:
            self._cancel()
            raise
        if self._failure is not None:
            raise error_from_run(self._failure, self._engine.url) from self._failure
        total = len(self._specs)
        on_progress(TaskProgress(done=total, active=0, total=total))
        return self._rows

    def _give_up(self, first_task_timeout_s: float) -> NoReturn:
        raise UnreachableError(
            f"Spark on {self._engine.url} began no task within {first_task_timeout_s:.0f} s; "
            "look whether it has free executors, or ask for smaller ones by --conf"
        )

    def _is_running(self) -> bool:
        self._thread.join(_LOOK_EVERY_S)
        return self._thread.is_alive()

    def _collect(self) -> None:
        try:
            self._engine.label(self._name)
            self._rows = self._table().mapInArrow(partial(_answered, self._work), _SCHEMA).collect()
        except Exception as error:  # noqa: BLE001 (raised again where it is waited for)
            self._failure = error

    def _table(self) -> "DataFrame":
        import pyarrow as pa  # noqa: PLC0415 (only fleets need it)

        total = len(self._specs)
        numbers = pa.array(range(total), pa.int64())
        table = pa.table({"number": numbers, "spec": pa.array(self._specs, pa.string())})
        # So many partitions as rows: one each, in their order, and nothing is moved for it.
        self._engine.spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(total))
        return self._engine.spark.createDataFrame(table)

    def _cancel(self) -> None:
        # From a thread, as Spark may be what hangs.
        cancelling = threading.Thread(target=self._engine.cancel, args=[self._name], daemon=True)
        cancelling.start()
        cancelling.join(_CANCELLING_S)
        self._thread.join(_CANCELLING_S)


def _answered(
    work: Callable[[str], str], batches: "Iterable[pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    """Runs on the executors."""
    import pyarrow as pa  # noqa: PLC0415 (as above)

    for batch in batches:
        for row in batch.to_pylist():
            answer, refused = None, None
            try:
                answer = work(row["spec"])
            except KgitopsError as error:
                answer, refused = str(error), type(error).__name__
            columns = {"number": [row["number"]], "answer": [answer], "refused": [refused]}
            schema = pa.schema(
                [("number", pa.int64()), ("answer", pa.string()), ("refused", pa.string())]
            )
            yield pa.RecordBatch.from_pydict(columns, schema)


def _text(row: "Row") -> str:
    if row.refused is None:
        return str(row.answer)
    kind = getattr(errors, row.refused, KgitopsError)
    raise (KgitopsError if kind is errors.FindingsError else kind)(row.answer)
