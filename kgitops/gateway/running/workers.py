"""Several processes on the same ports: a parent that starts them, and adds up what they count.

A worker is the same command line in a process of its own. It tells its state over a socket, one
line of JSON each second, and ends when that socket does: no worker outlives its parent.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from kgitops.gateway.connections.counts import ConnectionCounts
from kgitops.gateway.watching.status import GatewayStatus, ProcessStatus

VARIABLE = "KGITOPS_GATEWAY_WORKER"
"""The environment variable by which a worker knows its socket."""
_EVERY_S = 1.0
_SILENT_S = 15.0
_LONGEST_PAUSE_S = 30.0
_LONGEST_LINE = 1 << 20
_GRACE_S = 10.0


class WorkerReport(Struct, frozen=True, kw_only=True):
    """A line of a worker's; the ``url`` says that it listens."""

    url: str
    status: ProcessStatus


class Workers:
    """The processes of a gateway, each started again when it ends."""

    def __init__(
        self,
        count: int,
        words: Sequence[str],
        environ: Mapping[str, str],
        *,
        tell: Callable[[str], None],
        drain_s: float,
    ) -> None:
        """Take the words of the command line that each worker runs."""
        self._count = count
        self._words = tuple(words)
        self._environ = dict(environ)
        self._tell = tell
        self._drain_s = drain_s
        self._reports: dict[int, WorkerReport] = {}
        self._heard: dict[int, float] = {}
        self._ended = ConnectionCounts()
        self._restarts = 0
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._ending = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._first: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def status(self) -> GatewayStatus:
        """The state of all that told of themselves lately."""
        now = asyncio.get_running_loop().time()
        lately = [
            report.status
            for index, report in self._reports.items()
            if now - self._heard[index] < _SILENT_S
        ]
        return GatewayStatus(
            processes=tuple(lately),
            wanted=self._count,
            restarts=self._restarts,
            ended=self._ended,
        )

    @property
    def url(self) -> str:
        """The address that clients begin with."""
        return next(iter(self._reports.values())).url

    async def start(self) -> int:
        """Start all; 0 once each listens, else the exit code of the first that could not."""
        self._tasks = [asyncio.create_task(self._keep(index)) for index in range(self._count)]
        return await self._first

    async def stop(self) -> None:
        """Let all drain and end."""
        self._ending.set()
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._drain_s + _GRACE_S)
            for process in self._processes.values() if late else ():
                with suppress(ProcessLookupError):
                    process.kill()

    async def _keep(self, index: int) -> None:
        """Run a worker again and again."""
        pause_s = _EVERY_S
        while not self._ending.is_set():
            listened = await self._run(index)
            if self._ending.is_set():
                break
            if not listened and not self._first.done():
                return
            pause_s = _EVERY_S if listened else min(2 * pause_s, _LONGEST_PAUSE_S)
            self._restarts += 1
            await asyncio.sleep(pause_s)

    async def _run(self, index: int) -> bool:
        """Run a worker to its end; True if it listened."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "kgitops",
                *self._words,
                env={**self._environ, VARIABLE: str(theirs.fileno())},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self._processes[index] = process
        if self._ending.is_set():
            process.send_signal(signal.SIGTERM)
        reader, writer = await asyncio.open_connection(sock=ours, limit=_LONGEST_LINE)
        listened = False
        with suppress(OSError, ValueError, msgspec.DecodeError):
            while line := await reader.readline():
                self._reports[index] = msgspec.json.decode(line, type=WorkerReport)
                self._heard[index] = asyncio.get_running_loop().time()
                listened = True
                if len(self._reports) == self._count and not self._first.done():
                    self._first.set_result(0)
        writer.close()
        code = await process.wait()
        del self._processes[index]
        report = self._reports.pop(index, None)
        if report is not None:
            counts = report.status.counts
            counts.open = 0
            self._ended.add(counts)
        if not self._first.done() and not listened:
            self._first.set_result(code or 1)
        elif not self._ending.is_set():
            self._tell(f"worker {index} ended ({_end(code)}); it is started again")
        return listened


class WorkerChannel:
    """A worker's socket to its parent."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._task: asyncio.Task[None] | None = None

    async def start(
        self, url: str, status: Callable[[], ProcessStatus], end: Callable[[], None]
    ) -> None:
        """Tell of this process from now on; ``end`` is called when the parent is gone."""
        reader, writer = await asyncio.open_connection(sock=self._socket)
        self._task = asyncio.create_task(self._tell(url, status, writer))
        self._gone = asyncio.create_task(self._watch(reader, end))

    async def _tell(
        self, url: str, status: Callable[[], ProcessStatus], writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while True:
                report = WorkerReport(url=url, status=status())
                writer.write(msgspec.json.encode(report) + b"\n")
                await writer.drain()
                await asyncio.sleep(_EVERY_S)

    async def _watch(self, reader: asyncio.StreamReader, end: Callable[[], None]) -> None:
        with suppress(OSError):
            await reader.read()
        end()


def worker_channel(environ: Mapping[str, str]) -> WorkerChannel | None:
    """The socket to the parent, if this process is a worker."""
    text = environ.get(VARIABLE)
    if text is None or not text.isdecimal():
        return None
    os.environ.pop(VARIABLE, None)
    return WorkerChannel(int(text))


def _end(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
