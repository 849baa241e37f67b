"""The process of one broker: started, found again by its pid, awaited, stopped."""

import logging
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from kgitops.model.errors import UnreachableError

STOP_TIMEOUT_S = 20
_COMMAND_LINE_TIMEOUT_S = 1.0
_PROCESS_POLL_S = 0.01
_READY_POLL_S = 0.05
_ANSWER_TIMEOUT_S = 2.0


class BrokerProcess:
    """The broker whose ``server.properties``, data, log and pid file are in ``folder``."""

    def __init__(self, broker_id: int, folder: Path) -> None:
        self.id = broker_id
        self.folder = folder
        self.properties = folder / "server.properties"
        self.log = folder / "broker.log"
        self._pid_file = folder / "pid"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str]) -> int:
        """Start the JVM, whose last argument is the path of its properties, and return its pid."""
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,  # an interrupt at the terminal must not reach it
            )
        self._pid_file.write_text(f"{self._child.pid}\n")
        return self._child.pid

    @property
    def process(self) -> psutil.Process | None:
        """The running JVM; None for a stale pid file, even if another process has the pid now."""
        if self._child:
            # A pid is not reused before its process was waited for. The command line, which the
            # other branch looks at, is empty for a moment after the start.
            return psutil.Process(self._child.pid) if self._child.poll() is None else None
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None
        return find_process(pid, str(self.properties))

    @property
    def is_running(self) -> bool:
        """True while its JVM runs."""
        return self.process is not None

    def listens_on(self, port: int) -> bool:
        """True if its own JVM, and no other process, accepts connections at this port."""
        process = self.process
        try:
            sockets = process.net_connections(kind="tcp") if process else ()
        except psutil.Error:
            return False  # it ended just now
        return any(
            socket.status == psutil.CONN_LISTEN and socket.laddr.port == port for socket in sockets
        )

    def kill(self) -> None:
        """Send SIGKILL, which has the effect of a power cut."""
        process = self.process
        if process:
            kill(process)
        self._forget()

    def terminate(self) -> None:
        """Ask it to stop, without waiting."""
        process = self.process
        if process:
            terminate(process)

    def await_stop(self, timeout_s: float = STOP_TIMEOUT_S) -> bool:
        """Wait until it has stopped; kill it after ``timeout_s`` seconds, and return False then."""
        process = self.process
        in_time = True
        if process and is_running(process):
            try:
                process.wait(timeout_s)
            except psutil.TimeoutExpired:
                kill(process)
                in_time = False
        self._forget()
        return in_time

    def _forget(self) -> None:
        if self._child:
            self._child.wait()
        self._pid_file.unlink(missing_ok=True)


def find_process(pid: int, mark: str) -> psutil.Process | None:
    """The running process with this pid, if ``mark`` is an argument of its command line.

    The mark rules out another process that got the same pid. A command line is empty for a moment
    after the process was started, so it is read again.
    """
    deadline = time.monotonic() + _COMMAND_LINE_TIMEOUT_S
    try:
        process = psutil.Process(pid)
        while not (arguments := process.cmdline()) and is_running(process):
            if time.monotonic() > deadline:
                return None
            time.sleep(_PROCESS_POLL_S)
        return process if mark in arguments and is_running(process) else None
    except psutil.Error:
        return None


def is_running(process: psutil.Process) -> bool:
    """True if it runs, and is not a zombie that its parent has not waited for."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def kill(process: psutil.Process) -> None:
    """Send SIGKILL, and wait until it is gone."""
    with suppress(psutil.Error):
        process.kill()
        process.wait()


def terminate(process: psutil.Process) -> None:
    """Send SIGTERM, without waiting."""
    with suppress(psutil.Error):
        process.terminate()


def await_ready(
    servers: Mapping[int, str],
    configs: Mapping[str, str],
    *,
    check: Callable[[], None],
    on_stage: Callable[[str], None] = lambda _: None,
    timeout_s: float = 90,
) -> None:
    """Wait until each broker answers a Metadata request and names all the others.

    ``check`` is called before each retry and raises where waiting is useless.

    Raises:
        UnreachableError: a broker does not answer within ``timeout_s`` seconds.
    """
    deadline = time.monotonic() + timeout_s
    for count, (broker_id, server) in enumerate(servers.items()):
        on_stage(f"waiting for Kafka: {count} of {len(servers)} brokers answer")
        while not (_listens(server) and _brokers_in_metadata(server, configs) == set(servers)):
            check()
            if time.monotonic() > deadline:
                raise UnreachableError(
                    f"broker {broker_id} of the sandbox does not answer within {timeout_s:.0f} "
                    "seconds; stop what else keeps this machine busy, and start again"
                )
            time.sleep(_READY_POLL_S)


def _listens(server: str) -> bool:
    host, _, port = server.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_ANSWER_TIMEOUT_S):
            return True
    except OSError:
        return False


def _brokers_in_metadata(server: str, configs: Mapping[str, str]) -> set[int]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    silent = logging.getLogger("kgitops.sandbox.process")
    silent.disabled = True  # it would log a line per refused connection
    client = AdminClient({**configs, "bootstrap.servers": server}, logger=silent)
    try:
        return set(client.list_topics(timeout=_ANSWER_TIMEOUT_S).brokers)
    except KafkaException:
        return set()
