"""A listener for HTTP in an event loop."""

import asyncio
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from kgitops.model.errors import UnreachableError, UsageError
from kgitops.serve.http.connection import HttpConnection
from kgitops.serve.http.messages import HttpAnswering, HttpLimits

_CLOSING_S = 1.0
_TURNS = 10
_HIGHEST_PORT = 65535
_ENDING_S = 10.0


class HttpListener:
    """Takes connections, and has each answered in a task of its own."""

    def __init__(
        self,
        answering: HttpAnswering,
        *,
        host: str,
        port: int,
        option: str,
        limits: HttpLimits | None = None,
    ) -> None:
        """Take what answers, an address, and the option of the command line that chose it."""
        self._answering = answering
        self._option = option
        self._limits = limits or HttpLimits()
        self._listening: asyncio.Server | None = None
        self._stopped = False
        self._open: dict[asyncio.Task[None], HttpConnection] = {}
        self.host = host
        self.port = port
        """The one that is listened on, once it has started."""
        self.made_room = 0
        """Connections that were closed for others."""

    @property
    def url(self) -> str:
        """The address for a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Open the port; 0 takes a free one.

        Raises:
            UnreachableError: it is taken, or the host is not one of this machine.
        """
        try:
            self._listening = await asyncio.start_server(
                self._take, self.host, self.port, limit=self._limits.head
            )
        except OSError as error:
            raise UnreachableError(
                f"can't listen on {self.host}:{self.port}: {error.strerror or error}; choose "
                f"another port with {self._option}"
            ) from error
        self.port = self._listening.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port, and the connections."""
        self._stopped = True
        if self._listening is not None:
            self._listening.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING_S)
        for _ in range(_TURNS):
            await asyncio.sleep(0)  # those that were being accepted come, and learn that it is over

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a client; one too many takes the place of another, so none shuts others out."""
        task = asyncio.current_task()
        if task is None:
            return
        if self._stopped:
            writer.transport.abort()
            return
        if len(self._open) >= self._limits.connections:
            self._make_room()
        connection = HttpConnection(reader, writer, self._answering, self._limits)
        self._open[task] = connection
        try:
            await connection.serve()
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()  # closing would wait until the client has fetched what is left
        finally:
            self._open.pop(task, None)
            writer.close()

    def _make_room(self) -> None:
        """Close the oldest connection whose client owes its request; without one, the oldest."""
        owing = (task for task, connection in self._open.items() if connection.awaits_client)
        oldest = next(owing, None) or next(iter(self._open))
        del self._open[oldest]
        oldest.cancel()
        self.made_room += 1


def parse_address(text: str) -> tuple[str, int]:
    """The host and the port of ``--listen``.

    Raises:
        UsageError: it is not an address.
    """
    found = re.fullmatch(
        r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/,\[\]]+)):(?P<port>\d{1,5})", text
    )
    if found is None or int(found["port"]) > _HIGHEST_PORT:
        raise UsageError(
            f"--listen {text!r} is not an address; write HOST:PORT, as in 127.0.0.1:9092 "
            "(port 0 takes free ports)"
        )
    return found["ipv6"] or found["host"], int(found["port"])


@contextmanager
def in_thread(listener: HttpListener, name: str) -> Iterator[HttpListener]:
    """Let the listener answer while the ``with`` statement lasts.

    Raises:
        UnreachableError: it can't listen.
    """
    started: Future[asyncio.AbstractEventLoop] = Future()
    ended = asyncio.Event()

    async def run() -> None:
        try:
            await listener.start()
        except BaseException as error:  # noqa: BLE001 (it is raised where it is waited for)
            started.set_exception(error)
            return
        started.set_result(asyncio.get_running_loop())
        try:
            await ended.wait()
        finally:
            await listener.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name=name, daemon=True)
    thread.start()
    loop = started.result()
    try:
        yield listener
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(_ENDING_S)
