"""Receivers behind https: verified as always, by a CA of one's own where the environment names it.

The servers, the certificates and their CAs are real; only names of hosts are resolved by a fake.
"""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from reconcile.notifications.receivers import Receiver, event, receiver

from kgitops.reconcile.notifications.delivery import Patience
from kgitops.reconcile.notifications.notifying import Notifications, Subscription
from kgitops.reconcile.notifications.sending import send
from kgitops.reconcile.notifications.sinks import HttpPost, Webhook
from kgitops.reconcile.notifications.templates import open_template
from kgitops.sandbox.certificates import Certificates, issue_certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue_certificates(tmp_path_factory.mktemp("own-ca"), [])


@pytest.fixture
def chat(certificates: Certificates) -> Iterator[Receiver]:
    with receiver(certificate=certificates.broker) as opened:
        yield opened


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_ca_of_ones_own_is_trusted_where_it_is_named(
    chat: Receiver, certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chat.url.startswith("https://")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    for host in ("127.0.0.1", "localhost"):
        url = chat.url.replace("127.0.0.1", host)
        assert send(HttpPost(url, {"X-Token": "secret"}, b"{}"), 60).problem is None
    assert [headers["X-Token"] for headers in chat.headers] == ["secret", "secret"]


def test_a_ca_that_nobody_named_is_refused_and_nothing_is_sent(
    chat: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    told: list[str] = []
    webhook = Webhook("chat", chat.url, open_template("cloudevents", tmp_path), {})
    notifications = Notifications([Subscription(webhook)], told.append, Patience())
    notifications.notify(event())
    notifications.close()
    (counts,) = notifications.counts()
    assert (counts.delivered, counts.failed, chat.bodies) == (0, 1, [])
    assert "its certificate can't be trusted: " in told[0]
    assert "name the file of a CA of your own in SSL_CERT_FILE" in told[0]
    assert "secret" not in told[0]


def test_another_ca_with_the_same_name_is_refused(
    chat: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(issue_certificates(tmp_path, []).authority))
    answer = send(HttpPost(chat.url, {}, b"{}"), 60)
    assert (answer.problem or "").startswith("its certificate can't be trusted: ")
    assert (answer.again, chat.bodies) == (False, [])


@pytest.mark.parametrize("host", ["chat.example.com", "192.0.2.1"])
def test_a_certificate_for_another_name_is_refused(
    chat: Receiver, certificates: Certificates, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _host, *words, **named: resolve("127.0.0.1", *words, **named)
    )
    answer = send(HttpPost(chat.url.replace("127.0.0.1", host), {}, b"{}"), 60)
    assert answer.problem == "its certificate is for another host than its address names"
    assert (answer.again, chat.bodies) == (False, [])


def test_what_speaks_no_tls_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as plain:
        answer = send(HttpPost(plain.url.replace("http:", "https:"), {}, b"{}"), 60)
    assert (answer.problem or "").startswith("it can't be reached: ")
    assert "secret" not in (answer.problem or "")
    assert plain.bodies == []
