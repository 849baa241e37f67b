"""Real servers of Spark on loopback, started from PySpark's own jars: a cluster, and Connect."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psutil
from fleet.spark_archive import java_options
from fleet.spark_sessions import TESTS
from patience import eventually

from kgitops.fleet.spark.classic import java_home

# For what is started to do little, executors among it: it is there sooner.
_LEAN = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_STOPPING_S = 20
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def _bin() -> Path:
    """The folder of Spark's commands."""
    spec = find_spec("pyspark")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent / "bin"


class Server:
    """One process, whose log says where it listens."""

    def __init__(self, folder: Path, name: str, words: list[str], **env: str) -> None:
        self.log = folder / f"{name}.log"
        self._out = self.log.open("wb")
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "JAVA_HOME": str(java_home(folder / "java")),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "JDK_JAVA_OPTIONS": f"{_LEAN} {java_options()}",
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONPATH": str(TESTS),
                **env,
            },
            start_new_session=True,
        )

    def said(self, pattern: str) -> str:
        """What the log says, as soon as it does: the first group."""

        def log() -> str:
            text = self.log.read_text()
            assert self.process.poll() is None, text[-4000:]
            return text

        text = eventually(log, re.compile(pattern).search, what=f"the log has {pattern}")
        return str(re.findall(pattern, text)[0])

    def executors(self) -> list[psutil.Process]:
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [process for process in below if EXECUTOR in _words(process)]

    def stop(self) -> None:
        """With all that it started."""
        self._out.close()
        if self.process.poll() is not None:
            return
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.terminate()
        try:
            self.process.wait(_STOPPING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for process in psutil.wait_procs(family, timeout=_STOPPING_S)[1]:
            process.kill()


class Cluster:
    """A standalone cluster: a master and workers of one core each."""

    def __init__(self, url: str, workers: list[Server]) -> None:
        self.url = url
        self._workers = workers

    def executors(self) -> list[psutil.Process]:
        return [process for worker in self._workers for process in worker.executors()]


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    servers: list[Server] = []
    spark_class = str(_bin() / "spark-class")
    at = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    try:
        master = Server(
            folder,
            "master",
            [spark_class, "org.apache.spark.deploy.master.Master", *at],
            SPARK_MASTER_OPTS="-Dspark.master.rest.enabled=false",
        )
        servers.append(master)
        url = master.said(r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
            words = [spark_class, "org.apache.spark.deploy.worker.Worker", *at, *work, url]
            servers.append(Server(folder, f"worker{number}", words))
        for server in servers[1:]:
            server.said("(Successfully registered with master)")
        yield Cluster(url, servers[1:])
    finally:
        for server in reversed(servers):
            server.stop()


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The URL of a server of Spark Connect with two cores."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    words = [str(_bin() / "spark-submit"), "--master", "local[2,4]"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    server = Server(folder, "connect", [*words, "spark-internal"], SPARK_DAEMON_MEMORY="1g")
    try:
        address = server.said(r"Spark Connect server started at: (127\.0\.0\.1:\d+)")
        yield f"sc://{address}"
    finally:
        server.stop()


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
