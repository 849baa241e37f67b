"""``kgitops reconcile --listen``: a loop that runs, asked by HTTP."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cli.conftest import Kgitops
from cli.projects import Project, quota, topic
from other_processes import running
from patience import eventually
from reconcile.notifications.receivers import receiver

from kgitops.sandbox.certificates import issue_certificates

TOKEN = "a token that nobody guesses"  # noqa: S105 (a test's)
VARIABLE = "KGITOPS_RECONCILE_TOKEN"


class Running(NamedTuple):
    """A loop in a process, and its address."""

    process: subprocess.Popen[str]
    url: str

    def turn(self) -> dict[str, object]:
        """The next turn that it tells of."""
        return self.line("turn", "")

    def line(self, kind: str, part: str) -> dict[str, object]:
        """The next line of its log of this kind, in which this part is."""
        assert self.process.stdout is not None
        while True:
            text = self.process.stdout.readline()
            line = json.loads(text)
            if line["type"] == kind and part in text:
                return dict(line)

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        """Status and text of an answer."""
        request = Request(f"{self.url}{path}", method=method, headers=headers)  # noqa: S310 (http)
        try:
            with urlopen(request, timeout=60) as answer:  # noqa: S310 (as above)
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture
def loop(here: Path) -> Iterator[Running]:
    project = Project(here / "payments").write(topic(), quota())
    chat = {"name": "chat", "webhook": {"url": {"env": "CHAT_URL"}}, "events": ["pending"]}
    gone = {"name": "gone", "webhook": {"url": {"env": "GONE_URL"}}, "events": ["pending"]}
    project.write_file(reconcile={"mode": "converge", "notifications": [chat, gone]})
    words = ["reconcile", str(project.folder), "--interval", "1h", "--plans", "plans"]
    certificates = issue_certificates(here / "own-ca", [])
    command = [sys.executable, "-m", "kgitops", *words, "--format", "json"]
    with (
        receiver(certificate=certificates.broker) as told,
        receiver(404) as refusing,
        running(
            [*command, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                VARIABLE: TOKEN,
                "CHAT_URL": told.url.replace("127.0.0.1", "localhost"),
                "SSL_CERT_FILE": str(certificates.authority),
                "GONE_URL": refusing.url,
            },
        ) as process,
    ):
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line
        yield Running(process, found[0])
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
        assert TOKEN not in process.stderr.read()


def fates(loop: Running, sink: str) -> list[float]:
    """The events for a receiver that were delivered, failed and were dropped, by the metrics."""
    metrics = loop.ask("/metrics")[1]
    sample = 'kgitops_notifications_total{{outcome="{}",project="payments",sink="{}"}} (.+)'
    samples = [sample.format(fate, sink) for fate in ("delivered", "failed", "dropped")]
    return [float(count) for text in samples for count in re.findall(text, metrics)]


def test_a_loop_is_looked_at_and_asked_for_a_turn(loop: Running) -> None:
    first = loop.turn()
    assert first["number"] == 1
    assert loop.ask("/healthz") == (200, "ok\n")
    assert loop.ask("/readyz") == (200, "ok\n")

    (unit,) = json.loads(loop.ask("/status")[1])["units"]
    assert (unit["project"], unit["cluster"], unit["mode"]) == ("payments", "local", "converge")
    assert unit["turns"] == [{k: v for k, v in first.items() if k != "type"}]
    pending = unit["pending"]

    metrics = loop.ask("/metrics")[1]
    labels = 'cluster="local",outcome="pending",project="payments"'
    assert f"kgitops_reconcile_total{{{labels}}} 1.0" in metrics
    labels = 'action="create",cluster="local",level="disruptive",project="payments"'
    assert f"kgitops_pending_changes{{{labels}}} 1.0" in metrics

    page = loop.ask("/")[1]
    assert "1 plan waits for somebody" in page
    assert f"kgitops apply {pending['path']} --expect-digest {pending['digest']}" in page
    report = loop.ask(f"/plans/{pending['digest'].removeprefix('sha256:')}")
    assert (report[0], pending["digest"] in report[1]) == (200, True)

    eventually(
        lambda: (fates(loop, "chat"), fates(loop, "gone")),
        lambda found: found == ([1, 0, 0], [0, 1, 0]),
        what="one notification arrives and one is dropped",
    )

    assert loop.ask("/reconcile", "POST", Authorization="Bearer wrong")[0] == 401
    assert loop.line("notice", "POST /reconcile: refused a call with a wrong or missing token")
    assert loop.ask("/reconcile?cluster=no", "POST", Authorization=f"Bearer {TOKEN}")[0] == 404
    answer = loop.ask("/reconcile?cluster=local", "POST", Authorization=f"Bearer {TOKEN}")
    assert answer == (202, "a turn begins soon\n")
    assert loop.turn()["number"] == 2
    metrics = loop.ask("/metrics")[1]
    assert 'kgitops_hook_requests_total{outcome="accepted"} 1.0' in metrics
    assert 'kgitops_hook_requests_total{outcome="wrong-token"} 1.0' in metrics
    assert TOKEN not in metrics + page + json.dumps(unit)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--listen", "80"], 64, "is not an address"),
        (["--listen", "0.0.0.0:0"], 64, "listen on 127.0.0.1, or give --allow-anonymous"),
        (["--listen", "127.0.0.1:0", "--once"], 64, "leave one out"),
        (["--allow-anonymous"], 64, "--allow-anonymous is for --listen"),
        (["--listen", "192.0.2.1:0"], 64, "give --allow-anonymous"),
        (["--listen", "192.0.2.1:0", "--allow-anonymous"], 8, "can't listen on 192.0.2.1:0"),
    ],
)
def test_where_it_does_not_listen(
    words: list[str], code: int, said: str, here: Path, kgitops: Kgitops
) -> None:
    project = Project(here / "payments").write(topic()).write_file()
    ran = kgitops("reconcile", project.folder, *words)
    assert (ran.code, said in ran.err) == (code, True), ran.said


def test_a_short_token_is_refused_unseen(
    here: Path, kgitops: Kgitops, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(here / "payments").write(topic()).write_file()
    monkeypatch.setenv(VARIABLE, "guessable")
    ran = kgitops("reconcile", project.folder, "--listen", "127.0.0.1:0")
    assert ran.code == 64
    assert f"{VARIABLE} has fewer than 16 characters" in ran.err
    assert "guessable" not in ran.said
