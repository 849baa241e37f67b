"""One connection: a request is read, answered, and the connection closed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus

import h11

from kgitops.serve.http.messages import (
    HttpAnswering,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    text_response,
)

_VERSIONS = (b"1.0", b"1.1")
_CHUNK = 64 * 1024
_LINGER_S, _LINGER_BYTES = 1.0, 1024 * 1024
_log = logging.getLogger("kgitops.http")


class HttpConnection:
    """Speaks HTTP/1.1 with one client."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answering: HttpAnswering,
        limits: HttpLimits,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._answering = answering
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head)
        self.awaits_client = True
        """True while the client owes the rest of its request."""

    async def serve(self) -> None:
        """Answer one request, and read what else the client sends, so that it gets the answer.

        Raises:
            OSError: the client is gone.
            TimeoutError: it is too slow.
        """
        async with asyncio.timeout(self._limits.seconds):
            head_only = False
            try:
                async with asyncio.timeout(self._limits.head_seconds):
                    request = await self._request()
                if request is None:
                    return
                self.awaits_client = False
                head_only = request.method == "HEAD"
                response = await self._answer(request)
            except h11.RemoteProtocolError as error:
                response = _refusal(error)
            await self._send(response, head_only=head_only)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await self._linger()

    async def _request(self) -> HttpRequest | None:
        event = await self._next()
        if not isinstance(event, h11.Request):
            return None
        if event.http_version not in _VERSIONS:
            raise h11.RemoteProtocolError("another version", HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        target = event.target.decode("ascii", "replace")
        path, _, query = target.partition("?")
        return HttpRequest(
            method=event.method.decode("ascii"),
            path=path,
            query_text=query,
            headers=tuple(
                (name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers
            ),
        )

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            return await self._answering(request, self._body())
        except (h11.RemoteProtocolError, OSError):
            raise
        except Exception:  # noqa: BLE001 (the next client is answered all the same)
            _log.exception("kgitops failed where it should not, over HTTP")
            return text_response(
                "kgitops failed where it should not; its log says why",
                HTTPStatus.INTERNAL_SERVER_ERROR,
            )

    async def _body(self) -> AsyncIterator[bytes]:
        if self._http.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            self._writer.write(self._http.send(go_on) or b"")
        ends = asyncio.get_running_loop().time() + self._limits.body_seconds
        while isinstance(event := await self._part_of_body(ends), h11.Data):
            yield bytes(event.data)

    async def _part_of_body(self, ends: float) -> h11.Event | type[h11.PAUSED]:
        self.awaits_client = True
        async with asyncio.timeout_at(ends):
            event = await self._next()
        self.awaits_client = False
        return event

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_CHUNK))
        return event  # type: ignore[return-value]  # it is not NEED_DATA

    async def _send(self, response: HttpResponse, *, head_only: bool) -> None:
        """Write the answer in pieces, so that a slow client has no copy of all of it here."""
        headers = {
            "Content-Type": response.content_type,
            "Content-Length": str(len(response.body)),
            "Connection": "close",
            **response.headers,
        }
        start = h11.Response(
            status_code=response.status,
            reason=response.status.phrase.encode(),
            headers=list(headers.items()),
        )
        self._writer.write(self._http.send(start) or b"")
        body = b"" if head_only else response.body
        for at in range(0, len(body), _CHUNK):
            self._writer.write(self._http.send(h11.Data(body[at : at + _CHUNK])) or b"")
            await self._writer.drain()
        self._writer.write(self._http.send(h11.EndOfMessage()) or b"")
        await self._writer.drain()

    async def _linger(self) -> None:
        """Read what still comes for a moment: closing before would take the answer away again."""
        if self._writer.can_write_eof():
            self._writer.write_eof()
        read = 0
        while read < _LINGER_BYTES and (more := await self._reader.read(_CHUNK)):
            read += len(more)


def _refusal(error: h11.RemoteProtocolError) -> HttpResponse:
    """An answer that repeats nothing of what came."""
    status = HTTPStatus(error.error_status_hint)
    if status is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
        return text_response("the headers are too long", status)
    return text_response("this is no request of HTTP/1.1", status)
