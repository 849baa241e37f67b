"""Classic Spark: a JVM of our own is the driver, and all that it says goes to a file."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, Protocol, cast

from kgitops.fleet.spark.environment import environment
from kgitops.fleet.spark.java import java_home
from kgitops.fleet.spark.progress import TaskProgress
from kgitops.fleet.spark.reaching import reach
from kgitops.fleet.spark.sentences import failure_of, jvm_said
from kgitops.fleet.spark.targets import Master, classic_environment, classic_settings
from kgitops.model.errors import KgitopsError, UnreachableError

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

_STOPPING_S = 20


class _Gateway(Protocol):
    """Py4J has no types. ``proc`` is None for a JVM that someone else started."""

    proc: "Popen[bytes] | None"

    def shutdown(self) -> None: ...


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Removed in the end, also where the process ends while Spark starts in its thread."""
    folder = Path(tempfile.mkdtemp(prefix="kgitops-spark-"))
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(remove)
    try:
        yield folder
    finally:
        remove()
        atexit.unregister(remove)


class Classic:
    """A started classic Spark; one at a time in a process, as PySpark has it."""

    def __init__(self, master: Master, conf: Mapping[str, str]) -> None:
        """Start it, which takes seconds.

        Raises:
            KgitopsError: there is no Java, or Spark does not start with these settings.
            UnreachableError: its master can't be reached.
        """
        self.url = master.url
        with ExitStack() as stack:
            self._context = self._start(master, conf, stack)
            self._held = stack.pop_all()
        from pyspark.sql import SparkSession

        self.spark = SparkSession(self._context)

    def label(self, run: str) -> None:
        """The group of this thread's jobs."""
        self._context.setJobGroup(run, "kgitops", interruptOnCancel=True)

    def cancel(self, run: str) -> None:
        """The workers of what runs are ended."""
        self._context.cancelJobGroup(run)

    def progress(self, run: str, total: int) -> TaskProgress:
        """By Spark's status tracker."""
        tracker = self._context.statusTracker()
        jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(run))
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return TaskProgress(
            done=sum(stage.numCompletedTasks for stage in stages if stage),
            active=sum(stage.numActiveTasks for stage in stages if stage),
            total=total,
        )

    def stop(self) -> None:
        """The application, then its JVM."""
        with suppress(Exception):
            self.spark.stop()
        self._held.close()

    @staticmethod
    def _start(master: Master, conf: Mapping[str, str], stack: ExitStack) -> "SparkContext":
        from pyspark import SparkConf, SparkContext

        reach(master.url, master.hosts)
        folder = stack.enter_context(_own_folder())
        log = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        variables = {**classic_environment(master, conf), "JAVA_HOME": str(java_home(folder))}
        stack.enter_context(environment(variables))
        settings = SparkConf(loadDefaults=False)
        settings.setAll(list(classic_settings(master, conf).items()))
        gateway = _launch(settings, log)
        stack.callback(_end, gateway)
        try:
            return SparkContext(conf=settings, gateway=gateway)
        except Exception as error:
            failure = failure_of(error, f"Spark does not start on {master.url}")
            raise UnreachableError(str(failure)) if master.hosts else failure from error


def _launch(settings: "SparkConf", log: IO[bytes]) -> "_Gateway":
    from pyspark.java_gateway import launch_gateway

    try:
        started = launch_gateway(settings, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    except Exception as error:
        said = jvm_said(_tail(log)) or failure_of(error, "it said nothing")
        raise KgitopsError(
            f"Spark's Java does not start: {said}; correct --conf or JAVA_HOME"
        ) from error
    return cast("_Gateway", started)


def _end(gateway: "_Gateway") -> None:
    """End the JVM, so that the next one starts with settings of its own."""
    from pyspark import SparkContext

    SparkContext._gateway = None  # noqa: SLF001 (PySpark has no other way to begin anew)
    SparkContext._jvm = None  # noqa: SLF001
    with suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    if process is None:
        return
    if process.stdin:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_STOPPING_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _tail(log: IO[bytes]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - 20_000))
    return log.read().decode(errors="replace")
