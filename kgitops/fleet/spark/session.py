"""A Spark to run on, which starts while the driver prepares the work."""

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from kgitops.fleet.spark.classic import ClassicSpark
from kgitops.fleet.spark.connect import ConnectSpark
from kgitops.fleet.spark.engine import Engine
from kgitops.fleet.spark.targets import Master, Remote, check_packages, parse_target
from kgitops.model.errors import UnreachableError

if TYPE_CHECKING:
    import pyarrow as pa


STARTING_S = 300.0
_STOPPING_S = 60.0


class Session:
    """A Spark that is being started in a thread, so that the driver can prepare meanwhile."""

    def __init__(self, url: str, start: Callable[[], Engine], patience_s: float) -> None:
        self.url = url
        self._start = start
        self._patience_s = patience_s
        self._engine: Engine | None = None
        self._failure: BaseException | None = None
        # A daemon, as an interrupted run does not wait for Spark to be there.
        self._thread = threading.Thread(target=self._run, name="spark-start", daemon=True)
        self._thread.start()

    def engine(self) -> Engine:
        """Wait for Spark, and return it.

        Raises:
            KgitopsError: it does not start.
            UnreachableError: it can't be reached, or does not start in time.
        """
        self._thread.join(self._patience_s)
        if self._failure is not None:
            raise self._failure
        if self._engine is None:
            raise UnreachableError(
                f"Spark on {self.url} did not start within {self._patience_s:.0f} s; "
                "look at its logs, or whether this machine is too busy"
            )
        return self._engine

    def close(self, *, at_once: bool) -> None:
        """Stop it; while it is still starting, wait for that unless ``at_once``."""
        self._thread.join(0 if at_once else _STOPPING_S)
        if self._engine is not None:
            self._engine.stop()

    def _run(self) -> None:
        try:
            self._engine = self._start()
        except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
            self._failure = error


@contextmanager
def session(
    master: str | None,
    remote: str | None,
    conf: Mapping[str, str],
    *,
    work: Callable[[str], str] | None = None,
    starting_s: float = STARTING_S,
) -> Iterator[Session]:
    """A Spark within this block: classic on ``master`` (``local[*]``), or Connect at ``remote``.

    ``conf`` wins over what is set here. It says nothing on stdout and stderr. A classic one is
    the only one of its process. Local workers import the module of ``work`` while it starts.

    Raises:
        UsageError: that is not a URL of Spark, or there are two.
        KgitopsError: its Python packages are missing.
    """
    target = parse_target(master, remote, conf)
    check_packages()
    _be_quiet()
    started = Session(target.url, lambda: _start(target, conf, work), starting_s)
    try:
        yield started
    finally:
        error = sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1]
        started.close(at_once=error is not None and not isinstance(error, Exception))


def _start(
    target: Master | Remote, conf: Mapping[str, str], work: Callable[[str], str] | None
) -> Engine:
    match target:
        case Master():
            engine = ClassicSpark(target, conf)
            if work is not None and target.is_here:
                warm_up(engine, work)
            return engine
        case Remote():
            return ConnectSpark(target, conf)


def _be_quiet() -> None:
    """Silence loggers that repeat on stderr what is raised as an error."""
    for name in ("py4j", "pyspark"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pyspark\.")


def warm_up(engine: ClassicSpark, work: Callable[[str], str]) -> None:
    """Give each core a task that imports the work; does not raise, as the first run would."""
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
