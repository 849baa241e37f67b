"""One broker: a folder and a JVM."""

import subprocess
from pathlib import Path

import psutil

from kgitops.sandbox.broker.processes import find_process, is_running, kill, terminate

STOP_PATIENCE_S = 20


class Broker:
    """The broker whose ``server.properties``, data, log and pid file are in ``folder``."""

    def __init__(self, broker_id: int, folder: Path) -> None:
        self.id = broker_id
        self.folder = folder
        self.properties = folder / "server.properties"
        self.log = folder / "broker.log"
        self._pid_file = folder / "pid"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, command: list[str]) -> int:
        """Start the JVM, whose last word is the path of its properties; its pid."""
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,  # an interrupt at the terminal isn't for it
            )
        self._pid_file.write_text(f"{self._child.pid}\n")
        return self._child.pid

    @property
    def process(self) -> psutil.Process | None:
        """The running JVM; a stale pid file names none, whoever has the number now."""
        if self._child:
            # Its number can't be another's before it was waited for; and its command line is empty
            # for a moment after it was started.
            return psutil.Process(self._child.pid) if self._child.poll() is None else None
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None
        return find_process(pid, str(self.properties))

    @property
    def is_running(self) -> bool:
        """Whether its JVM runs."""
        return self.process is not None

    def kill(self) -> None:
        """SIGKILL: what a power cut does."""
        process = self.process
        if process:
            kill(process)
        self._forget()

    def terminate(self) -> None:
        """Ask it to stop, without waiting."""
        process = self.process
        if process:
            terminate(process)

    def await_stop(self, patience_s: float = STOP_PATIENCE_S) -> bool:
        """Wait until it has stopped, and kill it where that takes too long; False says so."""
        process = self.process
        in_time = True
        if process and is_running(process):
            try:
                process.wait(patience_s)
            except psutil.TimeoutExpired:
                kill(process)
                in_time = False
        self._forget()
        return in_time

    def _forget(self) -> None:
        if self._child:
            self._child.wait()
        self._pid_file.unlink(missing_ok=True)
