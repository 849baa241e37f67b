"""``POST /reconcile`` over a real socket: a hint from who has the token, and from nobody else."""

import hmac
import socket
from collections.abc import Iterator
from hashlib import sha256
from types import SimpleNamespace

import psutil
import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from reconcile.http.serving import LOCAL, State, serving
from reconcile.loop_states import loop, unit
from reconcile.turning import FakeClock
from serve.http.listening import ask, connect, everything

from kgitops.reconcile.http import hook
from kgitops.reconcile.http.hook import HookToken

TOKEN = "kΩ-0123456789abcdef"  # noqa: S105 (a test's)
MOST_GROWTH = 8 << 20
BODY = b'{"ref": "refs/heads/main", "cluster": "staging"}'


@pytest.fixture
def state() -> Iterator[State]:
    options = replace(LOCAL, token=HookToken.checked(TOKEN))
    with serving(loop(unit(), unit(cluster="staging")), options) as started:
        yield started


def signature(body: bytes, token: str = TOKEN) -> str:
    return f"sha256={hmac.new(token.encode(), body, sha256).hexdigest()}"


def post(
    state: State, headers: dict[str, str], body: bytes = BODY, path: str = "/reconcile"
) -> tuple[int, str]:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    data = "\r\n".join([*lines, "", ""]).encode() + body
    status, _, answer = ask(state.port, data)
    return status, answer.decode()


def counted(state: State) -> dict[str, float]:
    text = state.metrics.exposition(state.status(), 0).body.decode()
    return {
        sample.labels["outcome"]: sample.value
        for family in text_string_to_metric_families(text)
        if family.name == "kgitops_hook_requests"
        for sample in family.samples
    }


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer  {TOKEN} "},
        {"X-Gitlab-Token": TOKEN},
        {"X-Hub-Signature-256": signature(BODY)},
    ],
)
def test_who_has_the_token_is_heard(state: State, headers: dict[str, str]) -> None:
    assert post(state, headers) == (202, "a turn begins soon\n")
    assert state.hints == [None]
    assert counted(state) == {"accepted": 1}


def test_one_cluster_alone(state: State) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert post(state, headers, path="/reconcile?cluster=staging")[0] == 202
    assert post(state, headers, path="/reconcile?cluster=no%3Cb%3E")[0] == 404
    assert state.hints == ["staging"]
    assert counted(state) == {"accepted": 1, "unknown-cluster": 1}


def test_nothing_is_taken_from_the_body(state: State) -> None:
    assert post(state, {"X-Hub-Signature-256": signature(BODY)})[0] == 202
    assert state.hints == [None]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Digest {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN}", "authorization": f"Bearer {TOKEN}"},
        {"X-Gitlab-Token": ""},
        {"X-Gitlab-Token": TOKEN.upper()},
        {"X-Hub-Signature-256": signature(BODY + b" ")},
        {"X-Hub-Signature-256": signature(BODY, "another token of somebody")},
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": signature(BODY).upper()},
        {"X-Hub-Signature": f"sha1={'0' * 40}"},
        {"Authorization": "Bearer wrong", "X-Hub-Signature-256": signature(BODY)},
        {"Authorization": "Bearer \u00ff\u00fe"},
    ],
)
def test_who_has_it_not_is_refused(state: State, headers: dict[str, str]) -> None:
    assert post(state, headers) == (401, "the token is wrong or missing\n")
    assert post(state, headers, path="/reconcile?cluster=nothing")[0] == 401
    assert state.hints == []
    assert counted(state) == {"wrong-token": 2}


def test_without_a_token_there_is_no_hint() -> None:
    with serving(loop(unit())) as state:
        for headers in ({}, {"Authorization": "Bearer "}, {"X-Hub-Signature-256": signature(b"")}):
            status, answer = post(state, headers)
            assert (status, "set KGITOPS_RECONCILE_TOKEN" in answer) == (404, True)
        assert state.hints == []


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_only_post(state: State, method: str) -> None:
    """A link that somebody follows does nothing."""
    data = f"{method} /reconcile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    assert ask(state.port, f"{data}\r\n".encode())[0] == 405
    assert state.hints == []


def test_a_body_without_end_is_cut(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "LARGEST_BODY", 1000)
    body = b"x" * 2000
    assert post(state, {"X-Hub-Signature-256": signature(body)}, body)[0] == 413
    assert post(state, {"X-Hub-Signature-256": signature(b"x" * 900)}, b"x" * 900)[0] == 202
    assert counted(state) == {"too-large": 1, "accepted": 1}


def test_a_wrong_token_is_refused_before_the_body_is_there(state: State) -> None:
    with connect(state.port) as client:
        head = "POST /reconcile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
        client.sendall(f"{head}Authorization: Bearer wrong\r\n\r\n".encode())
        assert everything(client).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("number", [250, pytest.param(2_000, marks=pytest.mark.slow)])
def test_half_sent_bodies_hold_up_no_probe(state: State, number: int) -> None:
    """Whoever can reach the listener can make up a signature."""
    head = "POST /reconcile HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
    held: list[socket.socket] = []
    try:
        for count in range(1, number + 1):
            held.append(connect(state.port))
            held[-1].sendall(f"{head}X-Hub-Signature-256: sha256={count:064x}\r\n\r\nhalf".encode())
            if count % (number // 5) == 0:
                for path in ("/healthz", "/readyz") * 10:  # while the heads of all are read
                    probe = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    assert ask(state.port, probe.encode())[0] == 200
                assert post(state, {"X-Hub-Signature-256": signature(BODY)})[0] == 202
            if len(held) > 250:
                held.pop(0).close()  # this process has files for so many
    finally:
        for client in held:
            client.close()


WAYS = ("Authorization: Bearer {}", "X-Gitlab-Token: {}", "X-Hub-Signature-256: sha256={:0>64}")


AT_ONCE = 50


def try_wrong_tokens(port: int, number: int) -> None:
    """Some at once: the threads of both ends take fewer turns then."""
    for first in range(0, number, AT_ONCE):
        counts = range(first, min(first + AT_ONCE, number))
        clients = [connect(port) for _ in counts]
        for count, client in zip(counts, clients, strict=True):
            line = WAYS[count % len(WAYS)].format(f"{count:x}")
            data = f"POST /reconcile HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n"
            client.sendall(data.encode())
        for client in clients:
            with client:
                assert everything(client).startswith(b"HTTP/1.1 401 ")


def test_thousands_of_wrong_tokens(state: State) -> None:
    """Each is refused and counted, and the right one is heard after them as before."""
    try_wrong_tokens(state.port, 500)
    before = psutil.Process().memory_info().rss
    try_wrong_tokens(state.port, 9_500)
    assert psutil.Process().memory_info().rss - before < MOST_GROWTH
    assert counted(state) == {"wrong-token": 10_000}
    assert state.hints == []
    (said,) = state.told
    assert said.startswith("POST /reconcile: refused a call with a wrong or missing token; see ")
    assert post(state, {"Authorization": f"Bearer {TOKEN}"})[0] == 202
    assert state.hints == [None]


def test_the_log_tells_of_wrong_tokens_once_a_minute() -> None:
    clock = FakeClock()
    options = replace(LOCAL, token=HookToken.checked(TOKEN))
    with serving(loop(unit()), options, clock) as state:
        for seconds in (0, 30, 29, 1, 59, 1):
            clock.pass_by(seconds)
            try_wrong_tokens(state.port, 3)
    counts = [said.partition(" with ")[0] for said in state.told]
    calls = [f"POST /reconcile: refused {count}" for count in ("a call", "9 calls", "6 calls")]
    assert counts == calls
    assert TOKEN not in "".join(state.told)


def test_tokens_are_compared_in_the_same_time(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By digests of one length, whatever is shown, and by a comparison that takes each byte."""
    compared: list[tuple[int, int]] = []

    def compare(given: bytes, own: bytes) -> bool:
        compared.append((len(given), len(own)))
        return hmac.compare_digest(given, own)

    monkeypatch.setattr(hook, "hmac", SimpleNamespace(new=hmac.new, compare_digest=compare))
    for shown in ("x", TOKEN[:-1], "x" * 5000):
        assert post(state, {"Authorization": f"Bearer {shown}"})[0] == 401
    assert post(state, {"X-Hub-Signature-256": f"sha256={'0' * 64}"})[0] == 401
    assert compared == [(32, 32)] * 3 + [(64, 64)]
