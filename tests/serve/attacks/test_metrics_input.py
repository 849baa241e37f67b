"""The metrics' port: bad input ends the connection that it came by, and tells nothing."""

import socket
from collections.abc import Iterator

import pytest

from kgitops.cluster.embedded.adapter import EmbeddedCluster
from kgitops.serve.background import serving
from kgitops.serve.metrics_listener import MetricsListener

BAD = {
    "endless line": b"GET /" + b"a" * 40_000,
    "endless headers": b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 6_000,
    "half a request": b"GET /metrics HTTP/1.1\r\n",
    "Kafka": b"\0\0\0\x0a\0\x03\0\x01\0\0\0\x07\xff\xff",
    "nothing": b"",
}
REFUSED = {
    b"POST /metrics": b"HTTP/1.1 405 ",
    b"\xff\xfe /metrics": b"HTTP/1.1 400 ",
    b"GET /../../etc/passwd": b"HTTP/1.1 404 ",
    b"GET /%6detrics": b"HTTP/1.1 404 ",
    b"GET": b"HTTP/1.1 400 ",
}


@pytest.fixture
def port(embedded: EmbeddedCluster) -> Iterator[int]:
    with serving(embedded) as server:
        listener = MetricsListener(server, 0)
        server.run(listener.start())
        yield listener.port
        server.run(listener.stop())


def answer(port: int, data: bytes) -> bytes:
    """All that comes back when nothing more is sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while more := client.recv(65536):
                found += more
        except ConnectionResetError:
            pass  # it did not read all
        return found


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_request(port: int, name: str) -> None:
    """It has no answer or a refusal; the next client has what it asks for."""
    assert answer(port, BAD[name])[:10] in (b"", b"HTTP/1.1 4")
    found = answer(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert found.endswith(b"\r\n\r\nok\n")


@pytest.mark.parametrize("start", REFUSED)
def test_what_is_refused(port: int, start: bytes) -> None:
    """Nothing of the request is in the answer."""
    found = answer(port, start + b" HTTP/1.1\r\nHost: localhost\r\nX: <script>\r\n\r\n")
    assert found.startswith(REFUSED[start])
    assert b"script" not in found
    assert b"passwd" not in found
