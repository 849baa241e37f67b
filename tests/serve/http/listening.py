"""A listener in a thread of the tests' process, and clients that say exactly what they are told."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from kgitops.serve.http.listener import HttpListener, in_thread
from kgitops.serve.http.messages import (
    HttpAnswering,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    text_response,
)

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = b"x" * 50_000_000


async def echo(request: HttpRequest, body: AsyncIterator[bytes]) -> HttpResponse:
    """What came, as text; a path beyond ``/`` chooses something else."""
    if request.path == "/large":
        return HttpResponse(body=LARGE)
    if request.path == "/slow":
        await asyncio.sleep(3600)
    if request.path == "/bug":
        raise KeyError(request.path)
    if request.path == "/unread":
        return text_response("not read", HTTPStatus.FORBIDDEN)
    size = 0
    async for part in body:
        size += len(part)
    return text_response(f"{request.method} {request.path} {request.query_text} {size}")


@contextmanager
def listening(
    answering: HttpAnswering = echo, limits: HttpLimits | None = None
) -> Iterator[HttpListener]:
    """A listener on a free port of loopback."""
    listener = HttpListener(answering, host="127.0.0.1", port=0, option="--x", limits=limits)
    gc.freeze()  # the garbage of this listener is looked for, and not that of all tests before it
    try:
        with in_thread(listener, "listener of a test"):
            yield listener
        gc.collect()  # a connection that nobody closed is a warning now, and not in another test
    finally:
        gc.unfreeze()


def connect(port: int) -> socket.socket:
    """A connection that waits for a minute at most."""
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def everything(client: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    found = b""
    try:
        while more := client.recv(65536):
            found += more
    except ConnectionResetError:
        pass  # what came before counts
    return found


def ask(port: int, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer to these bytes; status 0 if there is none."""
    with connect(port) as client:
        client.sendall(data)
        answer = everything(client)
    if not answer:
        return 0, {}, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split(" ")[1]), headers, body
