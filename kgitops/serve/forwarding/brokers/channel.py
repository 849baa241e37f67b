"""A broker's one connection to the active controller: many requests at a time, by their numbers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from kgitops.serve.forwarding.brokers.login import MECHANISM, USER, plain_bytes
from kgitops.serve.forwarding.envelope import ENVELOPE, VERSION
from kgitops.serve.nodes import Node
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.frames import SIZE_BYTES, header_version, response_tags, with_size
from kgitops.wire.messages import Message, message_class

_OPENING_SECONDS = 10


class ControllerChannel:
    """A connection that is opened when it is needed first, and again when it was lost."""

    def __init__(self, broker: int, secret: str, active: Callable[[], Node | None]) -> None:
        self._client_id = f"broker-{broker}"
        self._secret = secret
        self._active = active
        self._opening = asyncio.Lock()
        self._pipeline: _Pipeline | None = None
        self._controller: Node | None = None
        self.versions: Mapping[int, range] | None = None
        """Those that the controller announced when the connection was opened; None before."""

    async def connect(self) -> None:
        """Open the connection, unless it is open.

        Raises:
            OSError: no controller is active, or it does not answer.
        """
        async with self._opening:
            if self._pipeline is not None and self._pipeline.is_open:
                return
            node = self._active()
            if node is None:
                raise ConnectionError("no controller is active")
            async with asyncio.timeout(_OPENING_SECONDS):
                _, pipeline = await asyncio.get_running_loop().create_connection(
                    _Pipeline, node.endpoint.host, node.endpoint.port
                )
                try:
                    await self._log_in(pipeline)
                except BaseException:
                    pipeline.close()
                    raise
            self._pipeline, self._controller = pipeline, node

    async def ask_envelope(self, envelope: bytes | bytearray) -> bytes:
        """Send an Envelope's message over the open connection; the answer's frame.

        Raises:
            OSError: the connection was lost.
        """
        if self._pipeline is None:
            raise ConnectionError("the connection to the controller is not open")
        return await self._send(self._pipeline, ENVELOPE, VERSION, envelope)

    def leave(self) -> None:
        """Have another connection opened if the controller is another one now.

        What this one has been asked for it may have decided: its answers are still taken.
        """
        if self._pipeline is not None and self._controller != self._active():
            self._pipeline.close_when_answered()

    def close(self) -> None:
        """Close the connection; what waits for an answer gets an error."""
        if self._pipeline is not None:
            self._pipeline.close()
            self._pipeline = None

    async def _log_in(self, pipeline: "_Pipeline") -> None:
        found = await self._ask(
            pipeline,
            "ApiVersions",
            3,
            messages.ApiVersionsRequest(
                client_software_name="kgitops-broker", client_software_version="1"
            ),
        )
        self.versions = {
            row.api_key: range(row.min_version, row.max_version + 1) for row in found.api_keys
        }
        await self._ask(
            pipeline, "SaslHandshake", 1, messages.SaslHandshakeRequest(mechanism=MECHANISM)
        )
        login = messages.SaslAuthenticateRequest(auth_bytes=plain_bytes(USER, self._secret))
        answer = await self._ask(pipeline, "SaslAuthenticate", 2, login)
        if answer.error_code:
            raise ConnectionError(f"the controller refused the broker: {answer.error_message}")

    async def _ask(
        self, pipeline: "_Pipeline", api: str, version: int, message: Message
    ) -> Message:
        data = await self._send(pipeline, api, version, write(message, version))
        response = message_class(f"{api}Response")
        return read(response, version, data, 4 + response_tags(apis()[keys()[api]], version))

    async def _send(
        self, pipeline: "_Pipeline", name: str, version: int, body: bytes | bytearray
    ) -> bytes:
        api = apis()[keys()[name]]
        number = pipeline.next_number()
        header = messages.RequestHeader(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=number,
            client_id=self._client_id,
        )
        head = write(header, header_version(api, version))
        return await pipeline.send(number, with_size(head, body))


class _Pipeline(asyncio.Protocol):
    """Frames over one connection, each to its request by the number that both bear."""

    def __init__(self) -> None:
        self.is_open = False
        self._buffer = bytearray()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0
        self._writing = asyncio.Lock()
        self._may_write = asyncio.Event()
        self._may_write.set()

    def next_number(self) -> int:
        self._number = (self._number + 1) & 0x7FFFFFFF
        return self._number

    async def send(self, number: int, frame: bytes) -> bytes:
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        async with self._writing:
            # What is written is kept even if its client has gone, so there is one at a time.
            await self._may_write.wait()
            if not self.is_open:
                raise ConnectionError("the connection to the controller is closed")
            self._waiting[number] = answer
            self._transport.write(frame)
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)
            self._close_if_left()

    def close(self) -> None:
        self.is_open = False
        self._transport.close()

    def close_when_answered(self) -> None:
        self.is_open = False
        self._close_if_left()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        at = 0
        while len(self._buffer) - at >= SIZE_BYTES:
            size = int.from_bytes(self._buffer[at : at + SIZE_BYTES], "big")
            if len(self._buffer) - at - SIZE_BYTES < size:
                break
            at += SIZE_BYTES
            frame = bytes(memoryview(self._buffer)[at : at + size])
            at += size
            answer = self._waiting.get(int.from_bytes(frame[:4], "big"))
            if answer is not None and not answer.done():
                answer.set_result(frame)
        del self._buffer[:at]

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._may_write.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError(f"the controller is gone: {exc or 'closed'}"))

    def _close_if_left(self) -> None:
        if not self.is_open and not self._waiting:
            self._transport.close()
