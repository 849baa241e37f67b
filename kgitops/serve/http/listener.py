"""A listener for HTTP in an event loop."""

import asyncio

from kgitops.model.errors import UnreachableError
from kgitops.serve.http.connection import HttpConnection
from kgitops.serve.http.messages import HttpAnswering, HttpLimits

_CLOSING_S = 1.0
_TURNS = 10


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
        """Answer a client; one too many takes the place of the one that is silent longest."""
        task = asyncio.current_task()
        if task is None:
            return
        full = len(self._open) >= self._limits.connections
        if self._stopped or (full and not self._make_room()):
            writer.transport.abort()
            return
        connection = HttpConnection(reader, writer, self._answering, self._limits)
        self._open[task] = connection
        try:
            await connection.serve()
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()  # closing would wait until the client has fetched what is left
        finally:
            self._open.pop(task, None)
            writer.close()

    def _make_room(self) -> bool:
        """Close the oldest connection that has not said yet what it wants, if there is one."""
        silent = (task for task, connection in self._open.items() if connection.silent)
        oldest = next(silent, None)
        if oldest is None:
            return False
        del self._open[oldest]
        oldest.cancel()
        self.made_room += 1
        return True
