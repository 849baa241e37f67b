"""The Spark that the options choose, its default settings, and checks that it can be used."""

import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from urllib.parse import urlsplit

from msgspec import Struct

from kgitops.model.errors import KgitopsError, UnreachableError, UsageError
from kgitops.model.origin import install_command

DEFAULT_MASTER = "local[*]"
_PACKAGES = ("pyspark", "pyarrow", "pandas")
_ATTEMPTS = 4
_CONNECT_PORT = 15002
_LOOPBACK = "127.0.0.1"
_LOOPBACKS = ("127.", "[::1]", "localhost")
_KEEPING = {
    "MALLOC_TRIM_THRESHOLD_": "536870912",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "67108864",
    "MIMALLOC_PURGE_DELAY": "-1",  # Arrow's
}
_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?")
_STANDALONE = re.compile(r"spark://([^/\s,]+:\d+(?:,[^/\s,]+:\d+)*)")
_OTHERS = re.compile(r"yarn|k8s://\S+|local-cluster\[\d+,\d+,\d+\]")


class Master(Struct, frozen=True, kw_only=True):
    """Classic Spark: this process is the driver. ``hosts`` are ``HOST:PORT`` of its masters."""

    url: str
    hosts: tuple[str, ...] = ()

    @property
    def is_here(self) -> bool:
        """True if its executors are on this machine."""
        on_loopback = self.hosts and all(host.startswith(_LOOPBACKS) for host in self.hosts)
        return bool(on_loopback) or self.url.startswith("local")


class Remote(Struct, frozen=True, kw_only=True):
    """Spark Connect: the driver is a server."""

    url: str
    host: str


def parse_target(
    master: str | None, remote: str | None, conf: Mapping[str, str]
) -> Master | Remote:
    """The Spark that ``--master``, ``--remote`` and ``--conf`` choose; ``--conf`` wins.

    Raises:
        UsageError: both are given, or it is not a URL of Spark.
    """
    remote = conf.get("spark.remote", remote)
    if remote is None:
        return _master(conf.get("spark.master", DEFAULT_MASTER if master is None else master))
    if master is not None or "spark.master" in conf:
        raise UsageError("--master and --remote are two ways to reach a Spark; give one of them")
    return _remote(remote)


def classic_settings(master: Master, conf: Mapping[str, str]) -> dict[str, str]:
    """The settings of a Spark whose driver is this process, the user's own last."""
    quiet = {
        "spark.app.name": "kgitops",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    # The driver hands out work and does none: what makes a server fast only makes it start late.
    lean = {"spark.driver.defaultJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    # A worker needs for its next task the memory that it freed after the last one: keep it.
    keeping = {f"spark.executorEnv.{name}": value for name, value in _KEEPING.items()}
    # Nothing here is shuffled, so this is for what a user may run in the same session.
    small = {"spark.sql.shuffle.partitions": "8"}
    # Above this size the rows of a table would share tasks.
    apart = {"spark.sql.execution.arrow.localRelationThreshold": "1g"}
    here = {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    local = here if master.is_here else {}
    return {
        **quiet,
        **lean,
        **keeping,
        **small,
        **apart,
        **local,
        **conf,
        "spark.master": master.url,
    }


def classic_environment(master: Master, conf: Mapping[str, str]) -> dict[str, str | None]:
    """The variables that Spark reads where it starts; None takes one away.

    On this machine executors use the Python that runs now; elsewhere the user names theirs.
    """
    python = conf.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    if python is None and master.is_here:
        python = sys.executable
    address = os.environ.get("SPARK_LOCAL_IP") or (_LOOPBACK if master.is_here else None)
    # With these PySpark takes a classic session for one of Connect.
    unfit: dict[str, str | None] = dict.fromkeys(
        ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
    )
    return {**unfit, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": address}


def _master(url: str) -> Master:
    if local := _LOCAL.fullmatch(url):
        # Without a number of attempts the first lost worker process would end the run.
        return Master(url=f"local[{local[1] or 1},{local[2] or _ATTEMPTS}]")
    if standalone := _STANDALONE.fullmatch(url):
        return Master(url=url, hosts=tuple(standalone[1].split(",")))
    if _OTHERS.fullmatch(url):
        return Master(url=url)
    raise UsageError(
        f"--master {url} is not a master of Spark; give local[N], spark://HOST:PORT, yarn or k8s://URL"
    )


def _remote(url: str) -> Remote:
    parts = urlsplit(url)
    try:
        port = parts.port or _CONNECT_PORT
    except ValueError:
        port = 0
    if parts.scheme != "sc" or not parts.hostname or not port:
        raise UsageError(f"--remote {url} is not a server of Spark Connect; give sc://HOST:PORT")
    return Remote(url=url, host=f"{parts.hostname}:{port}")


@contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables of this process within a block, as Spark reads them; None removes one."""
    before = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


_ANSWER_S = 10.0


def check_reachable(url: str, hosts: Sequence[str]) -> None:
    """See that one of ``hosts`` (``HOST:PORT``) can be connected to, at most 10 s for each.

    Raises:
        UnreachableError: none can.
    """
    problem = ""
    for host in hosts:
        name, _, port = host.rpartition(":")
        try:
            with socket.create_connection((name.strip("[]"), int(port)), timeout=_ANSWER_S):
                return
        except OSError as error:
            problem = (error.strerror or str(error) or "no answer").lower()
    if hosts:
        raise UnreachableError(
            f"Spark at {url} can't be reached: {problem}; start it, or correct the address"
        )


def check_packages(*more: str) -> None:
    """See that Spark's packages, and ``more`` of them, can be imported.

    Raises:
        KgitopsError: one can't.
    """
    missing = [name for name in (*_PACKAGES, *more) if find_spec(name) is None]
    if missing:
        raise KgitopsError(
            f"a fleet runs on Spark, and {', '.join(missing)} can't be imported; "
            f"run {install_command('fleet')}"
        )
