"""A client that costs little: one socket, any message, requests one by one or pipelined."""

import socket
import ssl
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.batches import seal
from kgitops.wire.codec import read
from kgitops.wire.frames import request_frame, response_tags
from kgitops.wire.messages import Message, message_class

NEWEST_WITH_NAMES = 12
"""The newest version of Produce that has names of topics, instead of ids."""
_PIPELINED = 50


class WireClient:
    """One connection to one server, which a user may have to log in to by PLAIN."""

    def __init__(
        self,
        server: str,
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        host, _, port = server.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=300)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        self._stream = self._socket.makefile("rb", buffering=1 << 20)
        self.versions = self._announced()
        if login is not None:
            self._log_in(*login)

    def _log_in(self, user: str, password: str) -> None:
        handshake = messages.SaslHandshakeRequest(mechanism="PLAIN")
        assert not self.decoded(self.frame("SaslHandshake", handshake)).error_code
        word = f"\0{user}\0{password}".encode()
        answer = self.decoded(
            self.frame("SaslAuthenticate", messages.SaslAuthenticateRequest(auth_bytes=word))
        )
        assert not answer.error_code, answer.error_message

    def frame(
        self, api: str, message: Message, newest: int | None = None
    ) -> tuple[str, int, bytes]:
        """A request in the newest version that the server has: its API, version and bytes."""
        found = apis()[keys()[api]]
        version = min(self.versions[found.key], found.versions[-1] if newest is None else newest)
        return api, version, request_frame(found, version, 1, "benchmark", message)

    def ask(self, request: tuple[str, int, bytes]) -> bytes:
        """Send a request; the answer's bytes, not decoded."""
        self._socket.sendall(request[2])
        return self._receive()

    def pipeline(self, request: tuple[str, int, bytes], count: int) -> None:
        """Send a request so many times, some at once."""
        for _ in range(count // _PIPELINED):
            self._socket.sendall(request[2] * _PIPELINED)
            for _ in range(_PIPELINED):
                self._receive()

    def windows(self, request: tuple[str, int, bytes], count: int, in_flight: int) -> None:
        """Send a request so many times, always with as many in flight."""
        sent = received = 0
        while received < count:
            burst = min(in_flight - (sent - received), count - sent)
            if burst:
                self._socket.sendall(request[2] * burst)
                sent += burst
            self._receive()
            received += 1

    def decoded(self, request: tuple[str, int, bytes]) -> Message:
        """Send a request; the answer."""
        api, version, _ = request
        return answer_of(api, version, self.ask(request))

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _receive(self) -> bytes:
        return self._stream.read(int.from_bytes(self._stream.read(4), "big"))

    def _announced(self) -> dict[int, int]:
        request = messages.ApiVersionsRequest(
            client_software_name="benchmark", client_software_version="0"
        )
        api = apis()[keys()["ApiVersions"]]
        self._socket.sendall(request_frame(api, 3, 1, "benchmark", request))
        answer = answer_of("ApiVersions", 3, self._receive())
        return {row.api_key: row.max_version for row in answer.api_keys}


def answer_of(api: str, version: int, data: bytes) -> Message:
    found = apis()[keys()[api]]
    after = 4 + response_tags(found, version)
    return read(message_class(found.response), version, data, after)


def small_batch() -> bytes:
    """A batch of one record of 100 bytes, without a key."""
    value = bytes(100)
    body = b"\0\0\0\1" + _varint(len(value)) + value + b"\0"
    rows = _varint(len(body)) + body
    head = struct.pack(">qiibIhiqqqhii", 0, 0, -1, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    return bytes(seal(bytearray(head + rows)))


def _varint(value: int) -> bytes:
    """A number that is not negative, as records have it."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def until_answered(server: str, seconds: float = 60) -> None:
    """Wait until a server answers ApiVersions."""
    last = time.monotonic() + seconds
    while True:
        try:
            WireClient(server).close()
        except OSError:
            if time.monotonic() > last:
                raise
            time.sleep(0.005)
        else:
            return


def cpu_seconds(process: psutil.Process) -> float:
    """The time on a processor of all threads and child processes, exact on Linux."""
    family = [process, *process.children(recursive=True)]
    return sum(_of_one(member.pid) for member in family)


def _of_one(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    exact = sum(_task_times(pid))
    return exact or times.user + times.system


def _task_times(pid: int) -> Iterator[float]:
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        yield int(file.read_text().split()[0]) / 1e9
