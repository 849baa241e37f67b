"""Metrics of a served cluster over HTTP, on loopback: ``/metrics`` for Prometheus, ``/healthz``."""

import asyncio
from http import HTTPStatus

from kgitops.model.errors import UnreachableError
from kgitops.serve.listening.settings import LOOPBACK
from kgitops.serve.server import KafkaServer

_SECONDS = 10
_LONGEST = 8 * 1024
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class MetricsListener:
    """Answers one request a connection."""

    def __init__(self, server: KafkaServer, port: int) -> None:
        self._server = server
        self.port = port
        """The one that is listened on, once it has started."""
        self._listening: asyncio.Server | None = None

    async def start(self) -> None:
        """Open the port; 0 takes a free one.

        Raises:
            UnreachableError: it is taken.
        """
        try:
            self._listening = await asyncio.start_server(
                self._answer, LOOPBACK, self.port, limit=_LONGEST
            )
        except OSError as error:
            raise UnreachableError(
                f"can't listen on {LOOPBACK}:{self.port} for metrics: {error.strerror or error}; "
                "choose another port with --metrics"
            ) from error
        self.port = self._listening.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port."""
        if self._listening is not None:
            self._listening.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(*self._found(head.split(b"\r\n", 1)[0])))
                await writer.drain()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # it is slow, gone, or speaks something else
        finally:
            writer.close()

    def _found(self, line: bytes) -> tuple[HTTPStatus, str]:
        method, _, rest = line.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method != b"GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, "only GET\n"
        if path == b"/metrics":
            return HTTPStatus.OK, self._server.metrics_text()
        if path == b"/healthz":
            return HTTPStatus.OK, "ok\n"
        return HTTPStatus.NOT_FOUND, "there are /metrics and /healthz\n"


def _response(status: HTTPStatus, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {_TEXT}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
