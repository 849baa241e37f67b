"""A client that sends any message in any version over one connection, and reads the answer."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from kgitops.serve.nodes import Endpoint
from kgitops.wire import messages
from kgitops.wire.apis import apis, keys
from kgitops.wire.codec import read, write
from kgitops.wire.frames import header_version, request_frame, response_tags, with_size
from kgitops.wire.messages import Message


class RawClient:
    """One connection to one node."""

    def __init__(self, endpoint: Endpoint, client_id: str | None = "raw") -> None:
        self.socket = socket.create_connection((endpoint.host, endpoint.port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id = client_id
        self._sent = 0

    def ask(self, api: str, version: int, message: Message = None) -> Message:
        """Send the request of an API (an empty one without ``message``); its answer."""
        self.send(api, version, message)
        return self.receive(api, version)

    def send(self, api: str, version: int, message: Message = None) -> int:
        """Send a request; its correlation id."""
        self._sent += 1
        found = apis()[keys()[api]]
        if message is None:
            message = messages.message_class(found.request)()
            if api == "ApiVersions":
                message.client_software_name = message.client_software_version = "0"
        frame = request_frame(found, version, self._sent, self.client_id, message)
        self.socket.sendall(frame)
        return self._sent

    def send_body(self, api: str, version: int, body: bytes | bytearray) -> None:
        """Send a request whose message is written already."""
        self._sent += 1
        found = apis()[keys()[api]]
        header = messages.RequestHeader(
            request_api_key=found.key,
            request_api_version=version,
            correlation_id=self._sent,
            client_id=self.client_id,
        )
        head = write(header, header_version(found, version))
        self.socket.sendall(with_size(head, body))

    def receive(self, api: str, version: int) -> Message:
        """Read the answer to the request that was sent last."""
        data = self.receive_frame()
        found = apis()[keys()[api]]
        assert int.from_bytes(data[:4], "big", signed=True) == self._sent
        after = 4 + response_tags(found, version)
        return read(messages.message_class(found.response), version, data, after)

    def receive_frame(self) -> bytes:
        """Read the next frame, without its length."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionResetError("the server closed the connection")
            data += more
        return data


@contextmanager
def raw_client(endpoint: Endpoint, client_id: str | None = "raw") -> Iterator[RawClient]:
    """A connection that is closed afterwards."""
    client = RawClient(endpoint, client_id)
    try:
        yield client
    finally:
        client.close()
