"""HTTP over a real socket: what a client is answered, and what none can do to another."""

import asyncio
import socket
from collections.abc import Iterator

import psutil
import pytest
from patience import eventually
from serve.http.listening import GET, ask, connect, echo, everything, listening

from kgitops.model.errors import UnreachableError
from kgitops.serve.http.listener import HttpListener
from kgitops.serve.http.messages import HttpLimits, HttpRequest

HOST = b"Host: localhost\r\n"
NO_REQUEST = {
    "noise": bytes(range(256)) * 20,
    "Kafka": b"\0\0\0\x0a\0\x03\0\x01\0\0\0\x07\xff\xff",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x55" * 200,
    "an old version": b"GET /\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "blanks in a name": b"GET / HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "a bad chunk": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "another encoding": b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
}


@pytest.fixture
def port() -> Iterator[int]:
    with listening() as listener:
        yield listener.port


def test_a_request_and_its_answer(port: int) -> None:
    status, headers, body = ask(port, b"GET /a?b=c HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (status, body) == (200, b"GET /a b=c 0\n")
    assert headers["connection"] == "close"
    assert headers["content-length"] == str(len(body))


def test_head_has_the_headers_alone(port: int) -> None:
    status, headers, body = ask(port, b"HEAD /a HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (status, body) == (200, b"")
    assert headers["content-length"] == "11"


def test_bodies_by_length_and_in_chunks(port: int) -> None:
    sized = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nabcde"
    chunked = HOST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
    assert ask(port, sized)[2] == b"POST /  5\n"
    assert ask(port, b"POST / HTTP/1.1\r\n" + chunked)[2] == b"POST /  7\n"


def test_who_waits_before_a_body_is_told_to_go_on(port: int) -> None:
    with connect(port) as client:
        head = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        client.sendall(head)
        assert client.recv(1024).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"abc")
        assert everything(client).endswith(b"POST /  3\n")


def test_who_is_refused_before_a_large_body_gets_the_answer(port: int) -> None:
    with connect(port) as client:
        client.sendall(b"POST /unread HTTP/1.1\r\n" + HOST + b"Content-Length: 900000\r\n\r\n")
        client.sendall(b"x" * 900_000)
        answer = everything(client)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert answer.endswith(b"not read\n")


@pytest.mark.parametrize("name", NO_REQUEST)
def test_what_is_no_request_is_refused(port: int, name: str) -> None:
    """Nothing of it is in the answer, and the next client has its own."""
    status, _, body = ask(port, NO_REQUEST[name])
    assert status in (400, 501, 505)
    assert body == b"this is no request of HTTP/1.1\n"
    assert ask(port, GET)[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
    ],
)
def test_endless_heads_are_cut(port: int, data: bytes) -> None:
    assert ask(port, data)[0] == 431
    assert ask(port, GET)[0] == 200


def test_an_error_of_our_own_is_told_without_its_words(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    status, _, body = ask(port, b"GET /bug HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status == 500
    assert b"KeyError" not in body
    assert "KeyError" in caplog.text
    assert ask(port, GET)[0] == 200


def test_a_client_that_says_nothing_is_let_go_of() -> None:
    with listening(limits=HttpLimits(head_seconds=0.2)) as listener:
        with connect(listener.port) as client:
            assert everything(client) == b""
        with connect(listener.port) as client:
            client.sendall(b"GET / HTTP/1.1\r\n")  # and no more
            assert everything(client) == b""


def test_headers_one_byte_at_a_time_have_the_same_limit() -> None:
    """Each byte is progress, and the time is that of all of them together."""
    with listening(limits=HttpLimits(head_seconds=0.5)) as listener:
        with connect(listener.port) as client:
            client.sendall(b"GET / HTTP/1.1\r\nX: ")
            client.settimeout(0.05)
            closed = False
            for _ in range(600):
                try:
                    client.sendall(b"a")
                    closed = client.recv(1) == b""
                    break
                except TimeoutError:
                    continue
                except OSError:
                    closed = True
                    break
            assert closed
        assert ask(listener.port, GET)[0] == 200


def test_a_client_that_never_fetches_its_answer_is_let_go_of() -> None:
    with listening(limits=HttpLimits(seconds=0.5)) as listener, connect(listener.port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
        eventually(lambda: [*listener._open], what="the connection is open")
        eventually(
            lambda: [*listener._open], lambda left: not left, what="the connection is closed"
        )
        # Its socket is gone too, with what it has not fetched.
        eventually(lambda: not connected(listener.port), what="the socket is closed")


def connected(port: int) -> bool:
    """True while this process has a connection that came by the port."""
    return any(
        each.laddr.port == port and each.raddr and each.fd != -1
        for each in psutil.Process().net_connections("tcp")
    )


POST = b"POST / HTTP/1.1\r\n" + HOST
HELD_UP = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: lo",
    "half a body": POST + b"Content-Length: 100\r\n\r\nhalf",
    "half a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhalf",
    "no body after all": POST + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
    "an answer that is not fetched": b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n",
    "an answer that takes forever": b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("number", [300, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("begun", HELD_UP)
def test_many_connections_that_hang_shut_nobody_out(begun: str, number: int) -> None:
    """The oldest ones make room, so whoever asks something is answered."""
    with listening(limits=HttpLimits(connections=50, head_seconds=60, body_seconds=60)) as listener:
        held: list[socket.socket] = []
        try:
            for count in range(1, number + 1):
                held.append(connect(listener.port))
                held[-1].sendall(HELD_UP[begun])
                if count % (number // 10) == 0:
                    assert ask(listener.port, GET)[0] == 200
                    assert len(listener._open) <= 50
                if len(held) > 200:
                    held.pop(0).close()
        finally:
            for client in held:
                client.close()
        assert listener.made_room > 50


def test_who_owes_a_request_makes_room_before_who_waits_for_an_answer() -> None:
    with (
        listening(limits=HttpLimits(connections=2)) as listener,
        connect(listener.port) as waiting,
        connect(listener.port) as owing,
    ):
        waiting.sendall(HELD_UP["an answer that takes forever"])
        eventually(
            lambda: [connection.awaits_client for connection in listener._open.values()],
            lambda awaiting: awaiting == [False, True],
            what="one answer is made and one request awaited",
        )
        owing.sendall(HELD_UP["half a body"])
        assert ask(listener.port, GET)[0] == 200
        assert everything(owing) == b""
        eventually(
            lambda: len(listener._open), lambda count: count == 1, what="only the first one is open"
        )


def test_a_body_that_stays_away_is_not_waited_for() -> None:
    with (
        listening(limits=HttpLimits(body_seconds=0.2)) as listener,
        connect(listener.port) as client,
    ):
        client.sendall(HELD_UP["half a body"])
        assert everything(client) == b""


def test_a_body_one_byte_at_a_time_has_the_same_limit() -> None:
    """Each byte is progress, and the time is that of all of them together."""
    with (
        listening(limits=HttpLimits(body_seconds=0.5)) as listener,
        connect(listener.port) as client,
    ):
        client.sendall(POST + b"Content-Length: 100000\r\n\r\n")
        client.settimeout(0.05)
        for _ in range(600):
            try:
                client.sendall(b"a")
                assert client.recv(1) == b""
                break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it is read for half a minute")


def test_a_port_that_is_taken() -> None:
    with listening() as listener:
        second = HttpListener(echo, host="127.0.0.1", port=listener.port, option="--x")
        with pytest.raises(UnreachableError, match=r"can't listen on .*another port with --x"):
            asyncio.run(second.start())


def test_a_header_that_comes_twice_counts_as_none() -> None:
    """Of two tokens nobody can say which one counts."""
    request = HttpRequest(
        method="GET", path="/", headers=(("a", "1"), ("b", "1"), ("b", "2")), query_text="c=1&c=2"
    )
    assert request.header("a") == "1"
    assert request.header("b") is None
    assert request.query == {"c": "2"}
    many = HttpRequest(method="GET", path="/", query_text="&".join(["a=1"] * 1000))
    assert many.query == {}
